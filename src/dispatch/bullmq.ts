import type { Clock } from "../core/clock.ts";
import type { Dispatcher, MakeDispatcher, Topic, TopicCount, Work, Works } from "../core/dispatcher.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import { KeyQueue } from "./bullmq-queue.ts";
import type { Patience } from "./bullmq-worker.ts";
import { checkPlace } from "./places.ts";
import type { Redis } from "./redis.ts";

/** The facts' own leases are longer; a loop that stands still for seven seconds is ill. */
const PATIENCE: Patience = { lockMs: 15_000, stalledMs: 5_000 };

/**
 * The dispatcher of many processes, on BullMQ. Time is the machines' own: delays are counted by BullMQ.
 * A process has one connection for all commands and one for each worker: for each topic that it works on, and for each
 * placed topic at each place that it serves. `redis` is closed by who opened it, after the dispatcher.
 */
export function bullmq(redis: Redis, patience: Patience = PATIENCE): MakeDispatcher {
  return (works, clock, log) => new BullmqDispatcher(redis, patience, works, clock, log);
}

class BullmqDispatcher implements Dispatcher {
  readonly #redis: Redis;
  readonly #works: readonly (readonly [Topic, Work])[];
  readonly #byTopic: Works;
  readonly #make: (topic: Topic, name: string) => KeyQueue;
  readonly #queues = new Map<string, { readonly topic: Topic; readonly queue: KeyQueue }>();
  #leaving = false;
  #closed = false;

  constructor(redis: Redis, patience: Patience, works: Works, clock: Clock, log: Log) {
    this.#redis = redis;
    this.#byTopic = works;
    this.#works = Object.entries(works) as [Topic, Work][]; // its keys are topics
    this.#make = (topic, name) => new KeyQueue({ redis, topic, name, patience, clock, log });
    for (const [topic, work] of this.#works) if (!work.placed) this.#queue(topic, undefined).work(work);
  }

  wake(topic: Topic, key: string, at: number, place?: ChannelId): void {
    const work = this.#byTopic[topic];
    if (work) checkPlace(topic, work, place);
    if (!this.#closed) this.#queue(topic, place).wake(key, at);
  }

  every(topic: Topic, ms: number): void {
    this.#queue(topic, undefined).every(ms);
  }

  serve(place: ChannelId): void {
    if (this.#leaving) return;
    for (const [topic, work] of this.#works) if (work.placed) this.#queue(topic, place).work(work);
  }

  async leave(place: ChannelId): Promise<void> {
    await Promise.all(
      this.#works.filter(([, work]) => work.placed).map(([topic]) => this.#queue(topic, place).leave()),
    );
  }

  away(): Promise<string | undefined> {
    return this.#redis.away();
  }

  async counts(): Promise<readonly TopicCount[]> {
    const all = await Promise.all(
      [...this.#queues.values()].map(async ({ topic, queue }) => ({ topic, ...(await queue.counts()) })),
    );
    const topics = new Map<Topic, TopicCount>();
    for (const count of all) {
      const before = topics.get(count.topic);
      topics.set(count.topic, before ? sum(before, count) : count);
    }
    return [...topics.values()];
  }

  async close(): Promise<void> {
    this.#leaving = true;
    // What ends now still wakes what others are to go on with: the sending of its answer, the turn that it gives back.
    await Promise.all([...this.#queues.values()].map(({ queue }) => queue.leave()));
    this.#closed = true;
    await Promise.all([...this.#queues.values()].map(({ queue }) => queue.close()));
  }

  #queue(topic: Topic, place: ChannelId | undefined): KeyQueue {
    // Queues' names have no ":".
    const name = place === undefined ? topic : `${topic}@${encodeURIComponent(place)}`;
    const there = this.#queues.get(name);
    if (there) return there.queue;
    const queue = this.#make(topic, name);
    this.#queues.set(name, { topic, queue });
    return queue;
  }
}

function sum(one: TopicCount, other: TopicCount): TopicCount {
  return {
    topic: one.topic,
    waiting: one.waiting + other.waiting,
    sleeping: one.sleeping + other.sleeping,
    running: one.running + other.running,
    oldestMs: Math.max(one.oldestMs, other.oldestMs),
  };
}
