import type { AgentAnswer, AgentDefinition, AgentDesk, Look } from "../core/agent.ts";
import type { TaskDesk } from "../core/background.ts";
import type { ChannelFace, ChannelFront, Live, PieceBody } from "../core/channel.ts";
import type { Clock } from "../core/clock.ts";
import type { ChannelId, ChatAddress, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Meter } from "../core/meter.ts";
import type { Tracer } from "../core/tracing.ts";
import type { ScheduleDesk, ScheduleLimits } from "../core/schedules.ts";
import type { TaskOrigin } from "../store/background.ts";
import type { ScheduleOrigin } from "../store/schedules.ts";
import type { Database } from "../store/database.ts";
import type { Payer } from "../core/budget.ts";
import type { Bounded } from "../core/bounds.ts";
import type { Queries } from "../store/tables.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import type { Draft } from "./life.ts";
import type { Remembering } from "./remembering.ts";

/** How `reply` makes pieces for a chat of a channel; it is handed in, for rooms on one floor do not know each other. */
export type Pieces = {
  answer(
    channel: ChannelFace,
    chat: ChatId,
    agent: AgentDefinition,
    answer: Pick<AgentAnswer, "markdown" | "choices">,
  ): Promise<{ readonly bodies: readonly PieceBody[]; readonly labels?: readonly string[] }>;
  words(channel: ChannelFace, text: string): readonly PieceBody[];
  /** Words of ours around what a tool is called with, which is shown as code. */
  call(
    channel: ChannelFace,
    words: { readonly before: string; readonly code: string; readonly after: string },
  ): readonly PieceBody[];
  /** What is shown of an answer that is still being written. */
  draft(markdown: string): Draft;
};

/** What bounds a turn, or other work of a chat; undefined where nothing does. */
export type Budgeting = {
  ofTurn(trx: Queries, turn: ClaimedTurn): Promise<Bounded | undefined>;
  ofPayer(trx: Queries, payer: Payer): Promise<Bounded | undefined>;
};

export type TurnParts = {
  readonly database: Database;
  readonly runner: Pick<AgentDesk, "run" | "compact">;
  readonly clock: Clock;
  readonly log: Log;
  /** Names this process in holds. */
  readonly owner: string;
  /** Whether other processes may be at the same facts. */
  readonly others: boolean;
  readonly channel: (id: ChannelId) => ChannelFront | undefined;
  readonly agent: (name: string) => AgentDefinition | undefined;
  readonly pieces: Pieces;
  /** How an answer is shown there while it is written; absent where the channel decides. */
  readonly live: (to: ChatAddress) => Promise<Live | "off" | undefined>;
  /** The folder of a chat, absolute. */
  readonly folder: (chat: ChatId) => string;
  /** How an agent looks at the files of a chat. */
  readonly look: (chat: ChatId, agent: AgentDefinition, bounded?: Bounded) => Look;
  /** What a connection is of: "telegram". */
  readonly kind: (id: ChannelId) => string;
  /** IANA; this machine's where it is not said. */
  readonly timeZone: () => string | undefined;
  readonly budgets: Pick<Budgeting, "ofTurn">;
  readonly memory: Remembering;
  /** All that is kept of a chat, as an answer. */
  readonly exporting: (turn: ClaimedTurn) => Promise<AgentAnswer>;
  /** The background tasks of a chat. */
  readonly tasks: (origin: TaskOrigin) => TaskDesk;
  /** The schedules of a chat; `scheduled` is whether the turn is one of them. */
  readonly schedules: (
    origin: ScheduleOrigin,
    by: { readonly limits: ScheduleLimits; readonly scheduled: boolean },
  ) => ScheduleDesk;
  /** How many messages are answered as one there. */
  readonly mostTogether: (to: ChatAddress) => Promise<number>;
  /** Messages under a sign of ours do not wait any more, by their `ref`s. */
  readonly unsign: (to: ChatAddress, refs: readonly string[]) => void;
  /** Who owns a connection, by their ids there. */
  readonly owners: (channel: ChannelId) => Promise<readonly string[]>;
  /** Something was planned for another chat. */
  readonly deliver: (chat: ChatId) => void;
  /** Where turns are counted and told of, if anywhere. */
  readonly meter?: Meter;
  readonly tracer?: Tracer;
  /** Aborts when the grace of a shutdown is over. */
  readonly cutOff: AbortSignal;
};
