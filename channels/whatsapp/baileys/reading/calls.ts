import type { WACallEvent } from "@whiskeysockets/baileys";
import type { MessageEvent } from "../../../../src/core/events.ts";
import type { Contacts } from "../people/contacts.ts";
import { privatePlace } from "./origin.ts";

/** A call of one person that rings now; those of groups, and of before, are nobody's to answer. */
export function isRinging({ status, isGroup, offline }: WACallEvent): boolean {
  return status === "offer" && isGroup !== true && !offline;
}

/** What the agent is told of a call that was refused, so that it says a sentence to whoever called. */
export function callEvent(
  { id, from, callerPn, date, isVideo }: WACallEvent,
  contacts: Pick<Contacts, "keyOf" | "formsOf" | "nameOf">,
): MessageEvent | undefined {
  const who = contacts.keyOf(from, callerPn);
  if (who === undefined) return undefined;
  const place = privatePlace(who, { contacts });
  return {
    type: "message",
    id: `call/${id}`,
    unique: true,
    ref: "",
    place,
    from: { id: who, name: contacts.nameOf(who) ?? who, ...(place.also ? { also: place.also } : {}) },
    sentAt: date.toISOString(),
    content: [
      { type: "text", text: `[${isVideo ? "video" : "voice"} call, refused: calls cannot be answered here]` },
    ],
    addressed: true,
  };
}
