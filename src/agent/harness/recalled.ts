import { newestQuestion, noteMessage } from "../messages.ts";
import type { AroundModel } from "./stage.ts";

/**
 * Puts what is remembered before the newest question, in the request alone: it may be another with the next turn, and what
 * stands before it can still be cached.
 */
export const withRecalled: AroundModel = async (asking, next) => {
  const { messages, turn } = asking;
  const recalled = turn?.recalled ?? "";
  const at = newestQuestion(messages);
  if (recalled.trim() === "" || at < 0) return await next(asking);
  const note = noteMessage(recalled, { lasting: false });
  return await next({ ...asking, messages: messages.toSpliced(at, 0, note) });
};
