import type { AgentAnswer, AgentDefinition } from "../core/agent.ts";
import type { ChannelFront, PieceBody } from "../core/channel.ts";
import { type ErrorCode, GatewayError } from "../core/errors.ts";
import { messageIdOf } from "../core/identity.ts";
import type { TurnState } from "../store/fact-tables.ts";
import { insist } from "../store/insist.ts";
import type { Touch } from "../store/memory.ts";
import { type ClaimedTurn, commitTurn } from "../store/turns.ts";
import { unusableIn } from "./content.ts";
import { correctedRows } from "./corrections.ts";
import { failureWords } from "./failures.ts";
import { languageHeard, languageIn } from "./local.ts";
import type { TurnParts } from "./parts.ts";
import { inPlace, piecesOf } from "./planned.ts";
import type { Running } from "./running.ts";

/** A turn that is to end. */
export type Ending = {
  readonly turn: ClaimedTurn;
  /** The one that it began with: its connection may have been closed or reopened meanwhile. */
  readonly channel: ChannelFront | undefined;
  /** Absent where it was not run. */
  readonly running?: Running | undefined;
};

/** How a turn is to end. */
export type TurnEnd = {
  readonly state: Exclude<TurnState, "running" | "abandoned">;
  readonly error: string;
  readonly bodies?: readonly PieceBody[];
  /** What can be pressed below the last text. */
  readonly labels?: readonly string[];
  readonly words?: string;
  /** As `AgentAnswer.corrected`. */
  readonly corrected?: readonly string[] | undefined;
  readonly touches?: readonly Touch[];
  /** What is known of the thread since. */
  readonly known?: Pick<AgentAnswer, "title" | "window">;
  readonly dead?: true;
};

/** Commits what came of a turn, and what is to be sent. Gives whether more waits in the chat. */
export async function endTurn(
  parts: TurnParts,
  { turn, channel, running }: Ending,
  end: TurnEnd,
): Promise<boolean> {
  const { database, clock, log, pieces: make, cutOff } = parts;
  const unusable = unusableIn(turn.messages, languageIn(turn));
  const bodies = channel
    ? [
        ...(unusable === "" ? [] : make.words(channel, unusable)),
        ...(end.bodies ?? (end.words === undefined ? [] : make.words(channel, end.words))),
      ]
    : [];
  const pieces = piecesOf(turn, bodies, end.labels);
  const corrected = correctedRows(end.corrected);
  const acted = running?.effects.any === true;
  const touches = end.touches ?? [];
  const more = await insist(
    async () =>
      commitTurn(database, turn, {
        state: end.state,
        messages: end.dead ? "dead" : "consumed",
        error: end.error,
        pieces: end.state === "done" ? await inPlace(database, turn, pieces) : pieces,
        corrected,
        ...(acted ? { effectsOf: messageIdOf(turn.intent) } : {}),
        touches,
        language: languageHeard(turn),
        ...(running ? { news: { ...newsIn(end.known), spent: running.spent } } : {}),
        now: clock.now(),
      }),
    { clock, log, closing: cutOff },
  );
  parts.memory.committed(touches);
  return more;
}

/** The end of a turn that has failed, or was stopped. Gives whether more waits in the chat. */
export async function endFailed(
  parts: TurnParts,
  { turn, channel, running }: Ending,
  error: Error,
  agent: AgentDefinition | undefined,
): Promise<boolean> {
  const ending = { turn, channel, running };
  const { chat } = turn.hold;
  const code: ErrorCode | "unexpected" = error instanceof GatewayError ? error.code : "unexpected";
  const reason = error instanceof GatewayError ? error.reason : undefined;
  switch (code) {
    case "turn.stopped":
      // Whoever stopped it has been answered already.
      return await endTurn(parts, ending, { state: "stopped", error: code });
    case "turn.timed_out":
      break;
    case "model.failed":
    case "model.missing_package":
    case "model.unknown":
      parts.log.error({ chat, turn: turn.id, reason, err: error }, "the model did not answer");
      break;
    default:
      parts.log.error({ chat, turn: turn.id, err: error }, "a turn failed");
  }
  const words = failureWords({ code, reason }, agent, languageIn(turn));
  return await endTurn(parts, ending, { state: "failed", error: code, words });
}

function newsIn({ title, window }: Pick<AgentAnswer, "title" | "window"> = {}): Pick<
  AgentAnswer,
  "title" | "window"
> {
  return { ...(title === undefined ? {} : { title }), ...(window === undefined ? {} : { window }) };
}
