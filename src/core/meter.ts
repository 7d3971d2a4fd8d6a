import type { ChannelId } from "./identity.ts";
import type { ModelUse } from "./usage.ts";

/** How a turn has ended, and how long people waited for it. */
export type TurnTold = {
  readonly agent: string;
  readonly channel: ChannelId;
  readonly state: "done" | "failed" | "stopped" | "abandoned";
  /** The error's code; "" without one. */
  readonly error: string;
  /** From when its first message was committed until the turn began, in ms. */
  readonly waitedMs: number;
  readonly tookMs: number;
};

/** What a piece has come to; "again" is a wait that the platform asks for, after which it is tried once more. */
export type PieceTold = "sent" | "again" | "failed" | "unknown" | "parked";

/** Where the gateway's work is counted. Nothing throws, and nothing is waited for. */
export type Meter = {
  /** Events of a platform that were committed, repeats among them. */
  accepted(channel: ChannelId, events: number): void;
  /** Events that could not be committed: the platform keeps them. */
  refused(channel: ChannelId, events: number): void;
  turn(turn: TurnTold): void;
  used(use: ModelUse): void;
  piece(channel: ChannelId, outcome: PieceTold): void;
};
