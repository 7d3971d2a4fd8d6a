import type { ChatMovedEvent, Place } from "../core/events.ts";
import type { Rules } from "../core/rules.ts";
import { moveChat, otherIds } from "../store/moves.ts";
import { unparkChat } from "../store/pieces.ts";
import { rulesFor, type Told } from "./about.ts";

/** The platform has given a chat another id: whoever talks there goes on where they were. */
export async function takeMove(told: Told<ChatMovedEvent>): Promise<void> {
  const { trx, channel, event, now, after, effects, log } = told;
  const { from, to } = event;
  const { chats, isNew } = await moveChat(trx, { channel, from, to, now });
  // What the old id was closed for, the new one may take.
  if (isNew) for (const chat of chats) await unparkChat(trx, chat);
  const rules = rulesFor(told);
  after.push(() => {
    for (const chat of chats) {
      effects.deliver(chat);
      if (rules) effects.turn(chat, now, rules.agent);
    }
    // Neither id is logged, which may be a phone number; the new one is told to nobody but the owner, by /status.
    if (isNew && rules && Object.hasOwn(rules.chats, from))
      log.warn(
        { channel, chat: chats[0] },
        "a chat has another id now; its rules go on to hold, but write the new id into perch.yaml: /status tells it to the owner there",
      );
  });
}

/** The rules as they hold for a chat: what the operator wrote under another id that it has or had, or is known by, counts for this one. */
export async function rulesByEachId(
  { trx, rules, channel }: Pick<Told, "trx" | "rules" | "channel">,
  { chat, also = [] }: Pick<Place, "chat" | "also">,
): Promise<Rules> {
  const of = rulesFor({ rules, channel });
  if (!of || Object.keys(of.chats).length === 0 || Object.hasOwn(of.chats, chat)) return rules;
  const others = new Set([...also, ...(await otherIds(trx, channel, chat))]);
  const found = Object.entries(of.chats).find(([id]) => others.has(id))?.[1];
  if (!found) return rules;
  const here = { ...of, chats: { ...of.chats, [chat]: found } };
  return { ...rules, channels: new Map(rules.channels).set(channel, here) };
}
