import type { Clock } from "./clock.ts";
import type { ChannelId } from "./identity.ts";
import type { Log } from "./log.ts";

/**
 * Says who works on what, when. Facts live in the store: if every wake-up were lost, a sweep would find the work again.
 * Keys of a topic are independent; one key is never worked on twice at once, in whichever process it was woken.
 */
export type Dispatcher = {
  /**
   * Makes sure that `key` is worked on at or after `at` (epoch ms). A key that sleeps is woken at the earliest time that
   * was asked for; work that begins after the call answers it, and a wake-up during work means work once more. A key
   * with a `place` is worked on only in processes that serve it. Never rejects: what cannot be written is dropped.
   * @throws TypeError where this process knows the topic's work and it is `placed` without a place, or the other way round
   */
  wake(topic: Topic, key: string, at: number, place?: ChannelId): void;
  /**
   * Has a topic worked on every `ms`, under the key `EVERY`, by one process of all: the first time `ms` from now, or when
   * another process has asked for it.
   */
  every(topic: Topic, ms: number): void;
  /** From now on, keys of the place are worked on in this process too. */
  serve(place: ChannelId): void;
  /** No new work of the place is begun here; resolves when what runs has ended. What is woken waits for who serves it. */
  leave(place: ChannelId): Promise<void>;
  /** Why wake-ups are lost for now, in a sentence; undefined while all is well. Never rejects. */
  away(): Promise<string | undefined>;
  /** What waits, of all processes, as far as this one knows the queues. Rejects while they cannot be asked. */
  counts(): Promise<readonly TopicCount[]>;
  /** Takes no new work; resolves when what runs has ended, and what that has woken for other processes is written. */
  close(): Promise<void>;
};

export type Topic = "fetch" | "turn" | "deliver" | "task" | "memory" | "forget" | "schedule" | "sweep";

/** The key that `every` works on. */
export const EVERY = "every";

export type Work = {
  /** How many keys of this topic, of each place where it has places, are worked on at once in this process. */
  readonly concurrency: number;
  /** Its keys belong to places: each is worked on where its place is served. */
  readonly placed?: boolean;
  /** A rejection is logged and tried again with a growing wait. */
  run(key: string): Promise<void>;
};

/** What a process works on; it may wake any topic. */
export type Works = Readonly<Partial<Record<Topic, Work>>>;

export type MakeDispatcher = (works: Works, clock: Clock, log: Log) => Dispatcher;

export type TopicCount = {
  readonly topic: Topic;
  /** Keys whose time has come. */
  readonly waiting: number;
  /** Keys whose time is still to come. */
  readonly sleeping: number;
  readonly running: number;
  /** How long the first of those that wait has waited since its time, in ms; 0 where none does. */
  readonly oldestMs: number;
};

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** How long work that has failed for the `failures`-th time in a row waits, in ms. */
export function retryWaitMs(failures: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS);
}
