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

/** An owner as a key of the dispatcher's; ids of platforms are values in it. */
export function keyOf({ channel, scope, subject, agent }: FactOwner): string {
  return JSON.stringify([channel, scope, subject, agent]);
}

export function ownerIn(key: string): FactOwner {
  const [channel, scope, subject, agent] = JSON.parse(key) as [string, FactOwner["scope"], string, string]; // as keyOf writes it
  return { channel, scope, subject, agent };
}
