import type { Senses, Transcriber } from "../core/agent.ts";
import type { MediaMinutes } from "../core/budget.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { FileBlobs } from "../store/blobs.ts";
import type { Lane } from "./lanes.ts";
import type { MediaLimits } from "./limits.ts";
import type { MediaPart } from "./part.ts";
import type { Programs } from "./programs.ts";
import type { Workshop } from "./workshop.ts";

/** What reading an attachment takes. */
export type Reading = {
  readonly open: (ref: string, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  readonly blobs: FileBlobs;
  readonly workshop: Workshop;
  readonly limits: MediaLimits;
  readonly clock: Clock;
  /** Of the agent that will answer: what it is worth making of a medium depends on who looks at it. */
  readonly senses: Senses;
  readonly transcriber: Transcriber | undefined;
  readonly programs: Programs;
  readonly log: Log;
  /**
   * Where a sound waits until it is decoded and written down: it takes long, holds up nothing else, and cannot end this
   * process. Decoded sound takes much room, so none lies there and waits.
   */
  readonly listening: Lane;
  /** What may be listened to and looked at; without it nothing bounds that. */
  readonly minutes?: MediaMinutes | undefined;
  /** All of it without one; what has neither pages nor seconds is always read whole. */
  readonly part?: MediaPart;
};
