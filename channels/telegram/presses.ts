import type { CallbackQuery, MessageGenerationStopped } from "grammy/types";
import type { ChoiceEvent, StopEvent } from "../../src/core/events.ts";
import { UNDATED } from "./dates.ts";
import { type BotIdentity, chatName, userName } from "./people.ts";
import { placeOf, placeOfChat } from "./place.ts";

/** What the Stop button below an answer that is being written begins with. A `Choice.key` has no ":". */
export const STOP = "stop:";

/** Which signs to stop mean an answer that is there already: they must not end the one that is written now. */
export type Over = {
  isOver?(draftId: number): boolean;
  isOverButton?(data: string): boolean;
};

/**
 * A pressed button; the event's id is the query's, which has to be answered in any case. Nothing where it cannot be known
 * in which chat it was.
 */
export function pressIn(
  query: CallbackQuery,
  me: BotIdentity,
  over: Over,
): ChoiceEvent | StopEvent | undefined {
  const { id, from: user, message, data } = query;
  if (message === undefined || data === undefined) return undefined;
  const isShown = message.date !== 0;
  const press = {
    id,
    place: isShown ? placeOf(message, me) : placeOfChat(message.chat),
    from: { id: String(user.id), name: userName(user) },
    sentAt: UNDATED,
  };
  if (!data.startsWith(STOP))
    return { type: "choice", ...press, key: data, ...(isShown ? { ref: String(message.message_id) } : {}) };
  return over.isOverButton?.(data) ? undefined : { type: "stop", ...press };
}

/** The Stop of Telegram's own below a draft, which only private chats have. */
export function stopIn(
  { chat, message_thread_id: thread, draft_id: draft }: MessageGenerationStopped,
  update: number,
  over: Over,
): StopEvent | undefined {
  if (over.isOver?.(draft)) return undefined;
  return {
    type: "stop",
    // Drafts may be numbered anew; the update tells a second press from a repeat.
    id: `stop/${draft}/${update}`,
    place: { ...placeOfChat(chat), ...(thread === undefined ? {} : { topic: String(thread) }) },
    from: { id: String(chat.id), name: chatName(chat) },
    sentAt: UNDATED,
  };
}
