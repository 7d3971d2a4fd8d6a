import type { AgentAnswer, AgentDefinition, AgentDesk, Look } from "../core/agent.ts";
import type { TaskDesk } from "../core/background.ts";
import type { ChannelFace, ChannelFront, Live, PieceBody } from "../core/channel.ts";
import type { Clock } from "../core/clock.ts";
import type { ChannelId, ChatAddress, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { TaskOrigin } from "../store/background.ts";
import type { Database } from "../store/database.ts";
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
  /** What is shown of an answer that is still being written. */
  draft(markdown: string): Draft;
};

export type TurnParts = {
  readonly database: Database;
  readonly runner: Pick<AgentDesk, "run" | "compact">;
  readonly clock: Clock;
  readonly log: Log;
  /** Names this process in holds. */
  readonly owner: string;
  readonly channel: (id: ChannelId) => ChannelFront | undefined;
  readonly agent: (name: string) => AgentDefinition | undefined;
  readonly pieces: Pieces;
  /** How an answer is shown there while it is written; absent where the channel decides. */
  readonly live: (to: ChatAddress) => Promise<Live | "off" | undefined>;
  /** The folder of a chat, absolute. */
  readonly folder: (chat: ChatId) => string;
  /** How an agent looks at the files of a chat. */
  readonly look: (chat: ChatId, agent: AgentDefinition) => Look;
  /** What a connection is of: "telegram". */
  readonly kind: (id: ChannelId) => string;
  /** IANA; this machine's where it is not said. */
  readonly timeZone: () => string | undefined;
  readonly memory: Remembering;
  /** All that is kept of a chat, as an answer. */
  readonly exporting: (turn: ClaimedTurn) => Promise<AgentAnswer>;
  /** The background tasks of a chat. */
  readonly tasks: (origin: TaskOrigin) => TaskDesk;
  /** Aborts when the grace of a shutdown is over. */
  readonly cutOff: AbortSignal;
};
