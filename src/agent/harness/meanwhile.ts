import { correctionMessage, humanMessage } from "../messages.ts";
import { type AroundModel, both, type StageParts } from "./stage.ts";

/**
 * Shows the model what people have said, and what was corrected, since it was last asked: it is asked once all calls of a
 * step have their results. It stands in the request behind them, and then in the thread before the answer.
 */
export function withMeanwhile({ files }: Pick<StageParts, "files">): AroundModel {
  return async (asking, next) => {
    const { turn } = asking;
    const steered = (await turn?.steered?.()) ?? [];
    const came = [
      ...steered.map(({ id, content, sentAt }) =>
        humanMessage(id, { content, sentAt, meanwhile: true }, files),
      ),
      // Of what was just taken in, too.
      ...(turn?.corrections?.() ?? []).map(correctionMessage),
    ];
    if (came.length === 0) return await next(asking);
    const said = await next({ ...asking, messages: [...asking.messages, ...came] });
    return { ...said, update: both({ messages: came }, said.update) };
  };
}
