import { correctionMessage } from "../messages.ts";
import { type AroundModel, both } from "./stage.ts";

/** Tells the model what was corrected since it was last asked; it stands in the request, and then in the thread before the answer. */
export const corrected: AroundModel = async (asking, next) => {
  const corrections = (asking.turn?.corrections?.() ?? []).map(correctionMessage);
  if (corrections.length === 0) return await next(asking);
  const said = await next({ ...asking, messages: [...asking.messages, ...corrections] });
  return { ...said, update: both({ messages: corrections }, said.update) };
};
