import type { BinaryNode } from "@whiskeysockets/baileys";
import type { Group } from "./group.ts";
import { newId, node, unixSeconds } from "./nodes.ts";
import type { Person } from "./person.ts";
import type { World } from "./world.ts";

export type GroupChange =
  | { readonly kind: "add" | "remove" | "promote" | "demote"; readonly people: readonly Person[] }
  | { readonly kind: "subject"; readonly subject: string }
  | { readonly kind: "announce"; readonly on: boolean }
  | { readonly kind: "ephemeral"; readonly seconds: number | undefined };

/** Somebody changes a group, and all linked devices that were or are in it are told. */
export function changeGroup(world: World, group: Group, by: Person, change: GroupChange): void {
  const concerned = new Set(group.members);
  apply(group, change);
  for (const person of group.members) concerned.add(person);
  for (const device of world.devices) {
    if (!concerned.has(device.phone)) continue;
    device.push(
      node(
        "notification",
        {
          id: newId(),
          from: group.id,
          type: "w:gp2",
          t: String(unixSeconds()),
          notify: by.name,
          addressing_mode: group.addressing,
          participant: group.addressOf(by),
          ...(group.addressing === "lid" ? { participant_pn: by.phone } : { participant_lid: by.lid }),
        },
        [wording(group, change)],
      ),
    );
  }
}

function apply(group: Group, change: GroupChange): void {
  switch (change.kind) {
    case "add":
      for (const person of change.people) group.members.add(person);
      return;
    case "remove":
      for (const person of change.people) {
        group.members.delete(person);
        group.admins.delete(person);
      }
      return;
    case "promote":
      for (const person of change.people) group.admins.add(person);
      return;
    case "demote":
      for (const person of change.people) group.admins.delete(person);
      return;
    case "subject":
      group.subject = change.subject;
      return;
    case "announce":
      group.announce = change.on;
      return;
    case "ephemeral":
      group.ephemeralSeconds = change.seconds;
  }
}

function wording(group: Group, change: GroupChange): BinaryNode {
  switch (change.kind) {
    case "add":
    case "remove":
    case "promote":
    case "demote":
      return node(
        change.kind,
        {},
        change.people.map((person) => group.participant(person)),
      );
    case "subject":
      return node("subject", { subject: change.subject, s_t: String(unixSeconds()) });
    case "announce":
      return node(change.on ? "announcement" : "not_announcement");
    case "ephemeral":
      return change.seconds === undefined
        ? node("not_ephemeral")
        : node("ephemeral", { expiration: String(change.seconds) });
  }
}
