import { proto, type WAMessage } from "@whiskeysockets/baileys";
import type { MembershipEvent } from "../../../../src/core/events.ts";
import { isGroup } from "../people/jids.ts";
import type { Me } from "../line.ts";
import { groupPlace, isMe, type OriginParts } from "./origin.ts";
import { isoOf } from "./words.ts";

const Told = proto.WebMessageInfo.StubType;
type Told = proto.WebMessageInfo.StubType;

/** Made with us in it, added, come by a link, admitted. */
const HERE: ReadonlySet<Told> = new Set([
  Told.GROUP_CREATE,
  Told.GROUP_PARTICIPANT_ADD,
  Told.GROUP_PARTICIPANT_INVITE,
  Told.GROUP_PARTICIPANT_ADD_REQUEST_JOIN,
]);
const GONE: ReadonlySet<Told> = new Set([Told.GROUP_PARTICIPANT_REMOVE, Told.GROUP_PARTICIPANT_LEAVE]);

/** Whether the account can write to a group again, or not any more. */
export function membershipIn(
  { key, messageStubType: type, messageStubParameters: parameters, messageTimestamp }: WAMessage,
  parts: OriginParts & { readonly me: Me },
): MembershipEvent | undefined {
  const group = key.remoteJid;
  if (!isGroup(group) || type == null || !(HERE.has(type) || GONE.has(type))) return undefined;
  const people: unknown = parameters ?? [];
  const ofUs =
    type === Told.GROUP_CREATE ||
    (Array.isArray(people) && people.some((one) => isOurs(String(one), parts.me)));
  if (!ofUs) return undefined;
  return {
    type: "membership",
    id: `membership/${key.id ?? ""}`,
    place: groupPlace(group, parts),
    sentAt: isoOf(messageTimestamp),
    now: GONE.has(type) ? "gone" : "here",
  };
}

/** A person is told of as JSON of their addresses, or as one of them. */
function isOurs(person: string, me: Me): boolean {
  if (!person.startsWith("{")) return isMe(person, me);
  try {
    const { id, phoneNumber, lid } = JSON.parse(person) as Readonly<Record<string, string | undefined>>; // the library's own
    return [id, phoneNumber, lid].some((jid) => isMe(jid, me));
  } catch {
    return false;
  }
}
