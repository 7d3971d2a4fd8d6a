import { type Job, Worker } from "bullmq";
import type { Clock, Timer } from "../core/clock.ts";
import type { Redis } from "./redis.ts";

/**
 * How long a process that is gone keeps its keys, at most: locks are renewed at half of `lockMs`, and whatever has none
 * left is found within `stalledMs` more. A process whose loop stands still for half of `lockMs` may lose a key that it
 * works on, and another begins it: the facts' epochs hold then.
 */
export type Patience = { readonly lockMs: number; readonly stalledMs: number };

export type WorkerParts<Data> = {
  readonly redis: Redis;
  readonly name: string;
  readonly patience: Patience;
  readonly concurrency: number;
  readonly clock: Clock;
  readonly run: (job: Job<Data>, token: string | undefined) => Promise<void>;
  /** The job is done, and its key is free. */
  readonly ended: (job: Job<Data>) => void;
};

/** An idle worker looks after so many seconds, whether or not it was told of something. */
const LOOK_SECONDS = 5;
const AGAIN_MS = 1_000;
const MOST_AT_ONCE = 1_000;

/**
 * A worker of BullMQ that goes on whatever becomes of Redis. BullMQ's own asks again at once when it is refused, and
 * for ever where the connection broke while it was made: that loop leaves the process time for nothing else.
 */
export class SteadyWorker<Data> {
  readonly #parts: WorkerParts<Data>;
  #worker: Worker<Data>;
  #again: Timer | undefined;
  #closed = false;

  constructor(parts: WorkerParts<Data>) {
    this.#parts = parts;
    this.#worker = this.#open();
  }

  /** Takes no new job, at once; resolves when those that run are done and the connection is given back. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#again?.cancel();
    await this.#worker.close();
  }

  #open(): Worker<Data> {
    const { redis, name, patience, concurrency, run, ended } = this.#parts;
    const worker = new Worker<Data>(name, (job, token) => run(job, token), {
      connection: redis.connection,
      prefix: redis.prefix,
      concurrency: Math.min(concurrency, MOST_AT_ONCE),
      lockDuration: patience.lockMs,
      stalledInterval: patience.stalledMs,
      maxStalledCount: Number.MAX_SAFE_INTEGER, // how often a turn may be begun, the facts say
      drainDelay: LOOK_SECONDS,
      runRetryDelay: AGAIN_MS,
      autorun: false,
    });
    worker.on("error", (err) => this.#rest(worker, err));
    worker.on("completed", (job) => ended(job));
    worker.on("failed", (job) => job && ended(job));
    void this.#begin(worker);
    return worker;
  }

  /** Never rejects. */
  async #begin(worker: Worker<Data>): Promise<void> {
    const { redis, clock } = this.#parts;
    try {
      await worker.waitUntilReady();
      if (!this.#closed) await worker.run();
    } catch (err) {
      if (this.#closed) return; // it was cut off while it began
      redis.trouble(err);
      worker.close(true).catch((error: unknown) => redis.trouble(error));
      this.#again?.cancel();
      this.#again = clock.after(AGAIN_MS, () => (this.#worker = this.#open()));
    }
  }

  #rest(worker: Worker<Data>, err: unknown): void {
    const { redis, clock } = this.#parts;
    if (this.#closed) return;
    redis.trouble(err);
    // While Redis is away, it waits by itself.
    if (!redis.isReady || !worker.isRunning() || worker.isPaused()) return;
    void worker.pause(true);
    this.#again?.cancel();
    this.#again = clock.after(AGAIN_MS, () => void worker.resume());
  }
}
