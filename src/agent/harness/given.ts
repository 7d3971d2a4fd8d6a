import { RemoveMessage } from "@langchain/core/messages";
import { offerIn } from "../choices.ts";
import { presentedIn } from "../files/presented.ts";
import { type Given, withGiven } from "../messages.ts";
import type { AroundModel } from "./stage.ts";
import { sinceAsked } from "./this-turn.ts";

/**
 * Files that were presented and choices that were offered in a turn are read from its messages when it ends. Where a summary
 * takes the place of some of them before that, the next message of the agent says what they gave.
 */
export const givenKept: AroundModel = async (asking, next) => {
  const said = await next(asking);
  const gone = new Set<string | undefined>(
    (said.update.messages ?? []).flatMap((message) =>
      RemoveMessage.isInstance(message) ? [message.id] : [],
    ),
  );
  if (gone.size === 0) return said;
  const lost = sinceAsked(asking).filter(({ id }) => gone.has(id));
  const [presented, offer] = [presentedIn(lost), offerIn(lost)];
  if (presented.length === 0 && offer === undefined) return said;
  const given: Given = { presented, ...(offer && { offer }) };
  return { ...said, answer: withGiven(said.answer, given) };
};
