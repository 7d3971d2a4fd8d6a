import { randomUUID } from "node:crypto";
import { type Job, type JobsOptions, Queue, WaitingError } from "bullmq";
import { type Clock, deadline, type Timer } from "../core/clock.ts";
import { EVERY, retryWaitMs, type Topic, type TopicCount, type Work } from "../core/dispatcher.ts";
import type { Log } from "../core/log.ts";
import { unlessAborted } from "../core/unless-aborted.ts";
import { type Patience, SteadyWorker } from "./bullmq-worker.ts";
import type { Redis } from "./redis.ts";

/** How long Redis may take to write a wake-up down, and a worker without work to end. */
const WRITE_MS = 5_000;
/** A key that ends between two looks at it is woken anew; nothing ends so fast so often. */
const TRIES = 4;
const EVENTS_KEPT = 100;

export type QueueParts = {
  readonly redis: Redis;
  readonly topic: Topic;
  readonly name: string;
  readonly patience: Patience;
  readonly clock: Clock;
  readonly log: Log;
};

type Data = { readonly key: string; readonly failures?: number };

/** `ended` gives how often the key has failed in a row by now. */
type Run = { again: number; ended: Promise<number> };

type Writing = { next: number; done: Promise<void> };

type Wish = { readonly at: number; readonly failures: number };

/**
 * The keys of a topic, or of a topic at a place, on one queue of BullMQ. A key has one job at most, which its
 * deduplication id holds from the wake-up to the end of its work:
 *
 * - A wake-up for now is one atomic script: it adds the job, or takes the sleeping one's place (`replace`), or is kept
 *   beside the one that runs and begins when that ends (`keepLastIfActive`). Those for now are all alike, so that it
 *   does not matter which is the last.
 * - One for later is added without either, so that it can neither move a sleeping job later nor hide one for now. Where
 *   it finds a job that does not answer it (one that sleeps longer, or runs in another process), this process waits for
 *   the time, and then wakes the key for now.
 * - Those for a key that runs in this process are noted with the run. What is for now is written before the job ends,
 *   what is for later when it has ended: while it runs, a process that is gone has its job taken up by another.
 *
 * What a process only holds in memory is lost with it, as is everything with Redis: the sweep finds it.
 */
export class KeyQueue {
  readonly #parts: QueueParts;
  #opened: Queue<Data> | undefined;
  #worker: SteadyWorker<Data> | undefined;
  #everyMs = Number.POSITIVE_INFINITY;
  #healing: Timer | undefined;
  /** Keys that run in this process, and when they are to run again. */
  readonly #running = new Map<string, Run>();
  /** What is to be woken for later when a job has ended. */
  readonly #after = new WeakMap<Job<Data>, Wish>();
  /** Keys that are being written, and what was wished for them meanwhile. */
  readonly #writing = new Map<string, Writing>();
  /** Keys that this process wakes when their time has come. */
  readonly #held = new Map<string, { readonly at: number; readonly timer: Timer }>();
  #isLeaving = false;
  #closed = false;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  wake(key: string, at: number): void {
    if (this.#closed) return;
    const run = this.#running.get(key);
    if (run) run.again = Math.min(run.again, at);
    else void this.#write(key, { at, failures: 0 });
  }

  /**
   * A run of `EVERY` wakes the next one. Each process looks in the same time whether there is one that sleeps, since
   * Redis may have been emptied: BullMQ's job scheduler would be gone with it, and starts one run beside another.
   */
  every(ms: number): void {
    this.#healing?.cancel();
    this.#everyMs = ms;
    const { clock } = this.#parts;
    const look = (): void => {
      this.wake(EVERY, clock.now() + ms);
      this.#healing = clock.after(ms, look);
    };
    look();
  }

  /** Begins to work on the keys. */
  work(work: Work): void {
    if (this.#worker) return;
    this.#isLeaving = false;
    this.#worker = new SteadyWorker<Data>({
      ...this.#parts,
      concurrency: work.concurrency,
      run: (job, token) => this.#run(job, token, work),
      ended: (job) => this.#ended(job),
    });
  }

  /** No new work is begun; resolves when what runs has ended and the worker's connection is given back. */
  async leave(): Promise<void> {
    const worker = this.#worker;
    if (!worker) return;
    this.#worker = undefined;
    this.#isLeaving = true;
    const { redis } = this.#parts;
    const closing = this.#bounded(worker.close()).catch((err: unknown) => redis.trouble(err));
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    // Without Redis it would be waited for in vain; its connection ends with the others then.
    if (redis.isReady) await closing;
  }

  async counts(): Promise<Omit<TopicCount, "topic">> {
    const queue = this.#queue();
    const [counts, [first]] = await this.#bounded(
      Promise.all([
        queue.getJobCounts("waiting", "delayed", "active"),
        queue.getJobs(["waiting"], 0, 0, true),
      ]),
    );
    const since = first ? first.timestamp + (first.opts.delay ?? 0) : Number.POSITIVE_INFINITY;
    return {
      waiting: counts["waiting"] ?? 0,
      sleeping: (counts["delayed"] ?? 0) + this.#held.size,
      running: counts["active"] ?? 0,
      oldestMs: Math.max(0, this.#parts.clock.now() - since),
    };
  }

  async close(): Promise<void> {
    this.#healing?.cancel();
    await this.leave();
    this.#closed = true;
    for (const { timer } of this.#held.values()) timer.cancel();
    this.#held.clear();
    await Promise.all([...this.#writing.values()].map(({ done }) => done));
    if (this.#opened)
      await this.#bounded(this.#opened.close()).catch((err: unknown) => this.#parts.redis.trouble(err));
  }

  #queue(): Queue<Data> {
    if (this.#opened) return this.#opened;
    const { redis, name } = this.#parts;
    const queue = new Queue<Data>(name, {
      connection: redis.connection,
      prefix: redis.prefix,
      streams: { events: { maxLen: EVENTS_KEPT } },
    });
    queue.on("error", (err) => redis.trouble(err));
    // One whose connection broke while it was made never works again.
    queue.waitUntilReady().catch(() => {
      if (this.#opened === queue) this.#opened = undefined;
    });
    this.#opened = queue;
    return queue;
  }

  async #run(job: Job<Data>, token: string | undefined, work: Work): Promise<void> {
    const { clock } = this.#parts;
    const { key, failures = 0 } = job.data;
    if (this.#isLeaving) {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const other = this.#running.get(key);
    if (other) {
      // Redis has lost the lock of what runs here, or all that it knew.
      other.again = Math.min(other.again, clock.now());
      return;
    }
    this.#letGo(key);
    const again = key === EVERY ? clock.now() + this.#everyMs : Number.POSITIVE_INFINITY;
    const run: Run = { again, ended: Promise.resolve(0) };
    this.#running.set(key, run);
    run.ended = this.#worked(key, run, failures, work);
    const wish = { failures: await run.ended, at: run.again };
    this.#running.delete(key);
    if (wish.at === Number.POSITIVE_INFINITY) return;
    if (wish.at > clock.now()) this.#after.set(job, wish);
    else await this.#write(key, wish);
  }

  /** Gives how often it has failed in a row by now. Never rejects. */
  async #worked(key: string, run: Run, failures: number, work: Work): Promise<number> {
    const { clock, log, topic } = this.#parts;
    try {
      await work.run(key);
      return 0;
    } catch (err) {
      const waitMs = retryWaitMs(failures + 1);
      run.again = Math.min(run.again, clock.now() + waitMs);
      log.error({ topic, key, err, waitMs }, "work failed, again after a wait");
      return failures + 1;
    }
  }

  /** A job that has ended leaves what it was to be woken for later; what has begun since then answers it. */
  #ended(job: Job<Data>): void {
    const wish = this.#after.get(job);
    if (wish && !this.#closed && !this.#running.has(job.data.key)) void this.#write(job.data.key, wish);
  }

  /** Resolves when it is written or given up. Never rejects. */
  #write(key: string, wish: Wish): Promise<void> {
    const writing = this.#writing.get(key);
    if (writing) {
      writing.next = Math.min(writing.next, wish.at);
      return writing.done;
    }
    const fresh: Writing = { next: Number.POSITIVE_INFINITY, done: Promise.resolve() };
    this.#writing.set(key, fresh);
    fresh.done = this.#written(key, wish, fresh);
    return fresh.done;
  }

  async #written(key: string, wish: Wish, writing: Writing): Promise<void> {
    try {
      await this.#put(key, wish);
    } catch (err) {
      this.#parts.redis.trouble(err);
    }
    this.#writing.delete(key);
    if (writing.next !== Number.POSITIVE_INFINITY) this.wake(key, writing.next);
  }

  /** @throws where it cannot be written: the wake-up is lost */
  async #put(key: string, { at, failures }: Wish): Promise<void> {
    const { redis, clock } = this.#parts;
    if (!redis.isReady) return;
    const data = failures > 0 ? { key, failures } : { key };
    if (at <= clock.now()) {
      await this.#add(data, { deduplication: { id: key, replace: true, keepLastIfActive: true } });
      return;
    }
    for (let tries = 0; tries < TRIES; tries += 1) {
      const delay = Math.max(1, at - clock.now());
      const there = await this.#add(data, { delay, deduplication: { id: key } });
      if (there === undefined) return;
      const job = await this.#bounded(this.#queue().getJob(there));
      if (!job) continue; // it ended meanwhile
      const isBegun = job.processedOn !== undefined;
      if (isBegun || job.timestamp + job.delay > at) this.#hold(key, at);
      return;
    }
  }

  /** Gives the id of the job that was there already, if any. */
  async #add(data: Data, options: JobsOptions): Promise<string | undefined> {
    const jobId = randomUUID();
    const job = await this.#bounded(
      this.#queue().add("key", data, { ...options, jobId, removeOnComplete: true, removeOnFail: true }),
    );
    return job.id === jobId ? undefined : job.id;
  }

  #hold(key: string, at: number): void {
    const { clock } = this.#parts;
    const held = this.#held.get(key);
    if (this.#closed || (held && held.at <= at)) return;
    held?.timer.cancel();
    const wake = (): void => {
      this.#held.delete(key);
      this.wake(key, clock.now());
    };
    this.#held.set(key, { at, timer: clock.after(at - clock.now(), wake) });
  }

  /** What begins now answers it. */
  #letGo(key: string): void {
    this.#held.get(key)?.timer.cancel();
    this.#held.delete(key);
  }

  async #bounded<T>(promise: Promise<T>): Promise<T> {
    const tooLong = deadline(
      this.#parts.clock,
      WRITE_MS,
      new Error(`Redis took longer than ${WRITE_MS / 1_000} s`),
    );
    try {
      return await unlessAborted(promise, tooLong.signal);
    } finally {
      tooLong.clear();
    }
  }
}
