import type { ChatId } from "../core/identity.ts";
import type { FactOwner } from "../core/memory.ts";
import type { ClaimedTurn } from "../store/turns.ts";

/**
 * Whose memory a turn belongs to: in a group the group's, whoever speaks; in private the person's. Where several speak in
 * private each has their own.
 */
export function ownersOf({ messages, hold, channel, agent }: ClaimedTurn): readonly FactOwner[] {
  const isGroup = messages.some(({ event }) => event.place.kind === "group");
  if (isGroup) return [{ scope: "chat", channel, subject: String(hold.chat), agent }];
  const people = new Set(messages.map(({ event }) => event.from.id));
  return [...people].map((subject) => ({ scope: "person", channel, subject, agent }));
}

/** What is to be gone through, as a key of the dispatcher's: it names a chat and no person. */
export function keyOf(chat: ChatId, agent: string): string {
  return `${chat}/${agent}`;
}

export function chatIn(key: string): { readonly chat: ChatId; readonly agent: string } {
  const [chat, agent = ""] = key.split("/"); // names of agents have no "/"
  return { chat: Number(chat) as ChatId, agent }; // as keyOf writes it
}
