import type { MembershipEvent } from "../core/events.ts";
import { chatsAt } from "../store/chats.ts";
import { holdBack } from "../store/closed-chats.ts";
import { unparkChat } from "../store/pieces.ts";
import type { Told } from "./about.ts";
import { record } from "./record.ts";

/**
 * Whether we can write to a chat, in all of its topics: what is to be sent there is held back, or goes on. Nothing is
 * taken back: who blocks the bot and comes back finds the answer.
 */
export async function takeMembership(told: Told<MembershipEvent>): Promise<void> {
  const { trx, channel, event, after, effects } = told;
  for (const { chat } of await chatsAt(trx, channel, event.place.chat)) {
    // A "gone" that is handed over again must not hold back what goes on since.
    if (!(await record(told, { chat, sender: "", why: "", trace: { step: event.now } }))) continue;
    if (event.now === "gone") await holdBack(trx, chat, event.place.chat, "the chat is closed to us");
    else if ((await unparkChat(trx, chat)) > 0) after.push(() => effects.deliver(chat));
  }
}
