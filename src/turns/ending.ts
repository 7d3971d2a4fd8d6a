import type { AgentAnswer, AgentDefinition } from "../core/agent.ts";
import type { Bounded } from "../core/bounds.ts";
import type { ChannelFront, PieceBody } from "../core/channel.ts";
import { type ErrorCode, GatewayError } from "../core/errors.ts";
import { messageIdOf } from "../core/identity.ts";
import type { Waits } from "../store/choices.ts";
import type { TurnState } from "../store/fact-tables.ts";
import { insist } from "../store/insist.ts";
import type { SteeredIntent } from "../store/meanwhile.ts";
import type { Touch } from "../store/memory.ts";
import type { NewPiece } from "../store/pieces.ts";
import type { Queries } from "../store/tables.ts";
import { type ClaimedTurn, commitTurn } from "../store/turns.ts";
import { questionsOf } from "./approvals.ts";
import { stopWords, warnings } from "./budget.ts";
import { unusableIn } from "./content.ts";
import { correctedRows } from "./corrections.ts";
import { failureWords } from "./failures.ts";
import { languageHeard, languageIn } from "./local.ts";
import { withHeard } from "./meanwhile.ts";
import type { TurnParts } from "./parts.ts";
import { inPlace, piecesOf } from "./planned.ts";
import type { Running } from "./running.ts";
import { unaskedDay } from "./scheduled.ts";
import { tellOf } from "./telling.ts";

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
  /** What goes on with the answer, where the last text is a question of a graph's. */
  readonly waits?: Waits;
  /** As `AgentAnswer.answered`. */
  readonly answered?: string;
  readonly words?: string;
  /** As `AgentAnswer.corrected`. */
  readonly corrected?: readonly string[] | undefined;
  /** What was steered into it and is answered with it. */
  readonly heard?: readonly SteeredIntent[];
  /** It is one that nobody has asked for, and it has nothing to say. */
  readonly silent?: true;
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
  const heard = end.heard ?? [];
  // What was stopped is stopped with all that was steered into it.
  const also =
    end.state === "stopped" ? running?.meanwhile.messages : heard.flatMap(({ messages }) => messages);
  const whole = withHeard(turn, also ?? []);
  const unusable = unusableIn(whole.messages, languageIn(turn));
  const bodies = channel
    ? [
        ...(unusable === "" ? [] : make.words(channel, unusable)),
        ...(end.bodies ?? (end.words === undefined ? [] : make.words(channel, end.words))),
      ]
    : [];
  const said = piecesOf(whole, bodies, { labels: end.labels, waits: end.waits });
  const corrected = correctedRows(end.corrected);
  const acted = running?.effects.any === true;
  const asked =
    acted && channel && end.state === "done" ? await questionsOf(parts, turn, channel, said.length) : [];
  const pieces = [...said, ...asked];
  const touches = end.touches ?? [];
  const more = await insist(
    async () =>
      commitTurn(database, turn, {
        state: end.state,
        messages: end.dead ? "dead" : "consumed",
        error: end.error,
        // What asks for a yes is not silent.
        ...(end.silent && asked.length === 0 ? { silent: unaskedDay(turn) } : {}),
        pieces: end.state === "done" && asked.length === 0 ? await inPlace(database, whole, pieces) : pieces,
        corrected,
        steered: heard.map(({ intent }) => intent),
        ...(acted ? { effectsOf: messageIdOf(turn.intent) } : {}),
        touches,
        language: languageHeard(whole),
        ...(channel && running?.bounded && end.state === "done" && !end.silent
          ? {
              behind: (trx: Queries) =>
                warned(trx, parts, { turn, channel, at: pieces.length }, running.bounded!),
            }
          : {}),
        settled: {
          // Of a turn that has failed or was stopped the thread may hold nothing.
          told: end.state === "done" ? (running?.told ?? []) : [],
          ...(end.answered === undefined ? {} : { answered: end.answered }),
        },
        ...(running ? { news: { ...newsIn(end.known), spent: running.spent } } : {}),
        now: clock.now(),
      }),
    { clock, log, closing: cutOff },
  );
  tellOf(parts, turn, end, running?.spent);
  parts.memory.committed(touches);
  for (const { chat } of asked) if (chat !== turn.hold.chat) parts.deliver(chat);
  return more;
}

/** Behind an answer it is said where little is left of a budget. */
async function warned(
  trx: Queries,
  parts: TurnParts,
  { turn, channel, at }: { readonly turn: ClaimedTurn; readonly channel: ChannelFront; readonly at: number },
  bounded: Bounded,
): Promise<readonly NewPiece[]> {
  const words = await warnings(trx, turn, bounded, parts);
  if (words === "") return [];
  const bodies = parts.pieces.words(channel, words);
  return bodies.map((body, n) => ({ chat: turn.hold.chat, to: turn.to, turn: turn.id, seq: at + n, body }));
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
    case "budget.spent": {
      parts.log.info({ chat, turn: turn.id }, "a turn ended at a budget");
      const { spent } = error as GatewayError; // by its code
      const words = spent && (await stopWords(parts, turn, spent, running?.bounded?.timeZone));
      return await endTurn(parts, ending, {
        state: "failed",
        error: code,
        ...(words === undefined ? {} : { words }),
      });
    }
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
