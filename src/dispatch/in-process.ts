import type { Clock, Timer } from "../core/clock.ts";
import {
  type Dispatcher,
  EVERY,
  retryWaitMs,
  type Topic,
  type TopicCount,
  type Work,
  type Works,
} from "../core/dispatcher.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import { checkPlace } from "./places.ts";

/** The dispatcher of one process: timers and maps. Only keys with work are kept, so an idle gateway holds nothing. */
export function inProcess(works: Works, clock: Clock, log: Log): Dispatcher {
  const topics = (Object.entries(works) as [Topic, Work][]).map(
    ([topic, work]) => [topic, new TopicLanes(topic, work, clock, log)] as const,
  );
  const byTopic = new Map(topics);
  const all = [...byTopic.values()];
  return {
    wake: (topic, key, at, place) => byTopic.get(topic)?.wake(key, at, place),
    every: (topic, ms) => byTopic.get(topic)?.every(ms),
    serve: (place) => {
      for (const topic of all) topic.serve(place);
    },
    leave: async (place) => {
      await Promise.all(all.map((topic) => topic.leave(place)));
    },
    away: async () => undefined,
    counts: async () => all.map((topic) => topic.count()),
    close: async () => {
      await Promise.all(all.map((topic) => topic.close()));
    },
  };
}

/** The lanes of a topic: one set of them, or one for each place. */
class TopicLanes {
  readonly #topic: Topic;
  readonly #work: Work;
  readonly #make: (isServed: boolean) => Lanes;
  readonly #clock: Clock;
  readonly #lanes = new Map<ChannelId | undefined, Lanes>();
  readonly #served = new Set<ChannelId>();

  constructor(topic: Topic, work: Work, clock: Clock, log: Log) {
    this.#topic = topic;
    this.#work = work;
    this.#clock = clock;
    this.#make = (isServed) => new Lanes(topic, work, clock, log, isServed);
  }

  wake(key: string, at: number, place: ChannelId | undefined): void {
    checkPlace(this.#topic, this.#work, place);
    this.#at(place).wake(key, at);
  }

  every(ms: number): void {
    this.#at(undefined).every(ms);
  }

  serve(place: ChannelId): void {
    if (!this.#work.placed) return;
    this.#served.add(place);
    this.#lanes.get(place)?.serve();
  }

  async leave(place: ChannelId): Promise<void> {
    this.#served.delete(place);
    await this.#lanes.get(place)?.leave();
  }

  count(): TopicCount {
    const now = this.#clock.now();
    const counts = [...this.#lanes.values()].map((lanes) => lanes.count(now));
    const sum = (of: (count: LanesCount) => number): number =>
      counts.reduce((so, count) => so + of(count), 0);
    return {
      topic: this.#topic,
      waiting: sum(({ waiting }) => waiting),
      sleeping: sum(({ sleeping }) => sleeping),
      running: sum(({ running }) => running),
      oldestMs: Math.max(0, ...counts.map(({ oldestMs }) => oldestMs)),
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map((lanes) => lanes.close()));
  }

  #at(place: ChannelId | undefined): Lanes {
    const there = this.#lanes.get(place);
    if (there) return there;
    const fresh = this.#make(place === undefined || this.#served.has(place));
    this.#lanes.set(place, fresh);
    return fresh;
  }
}

type Lane = {
  state: "sleeping" | "ready" | "running";
  timer?: Timer | undefined;
  /** When a sleeping lane wakes; since when a ready one waits; for a running one, when it is to run again. */
  at: number;
  failures: number;
};

type LanesCount = Omit<TopicCount, "topic">;

class Lanes {
  readonly #topic: Topic;
  readonly #work: Work;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #lanes = new Map<string, Lane>();
  readonly #ready: string[] = [];
  readonly #running = new Set<Promise<void>>();
  #everyMs = Number.POSITIVE_INFINITY;
  #isServed: boolean;
  #closed = false;

  constructor(topic: Topic, work: Work, clock: Clock, log: Log, isServed: boolean) {
    this.#topic = topic;
    this.#work = work;
    this.#clock = clock;
    this.#log = log;
    this.#isServed = isServed;
  }

  wake(key: string, at: number): void {
    if (this.#closed) return;
    const lane = this.#lanes.get(key);
    if (!lane) {
      const fresh: Lane = { state: "sleeping", at, failures: 0 };
      this.#lanes.set(key, fresh);
      this.#sleep(key, fresh, at);
      return;
    }
    if (lane.state === "ready" || at >= lane.at) return;
    lane.at = at;
    if (lane.state === "sleeping") this.#sleep(key, lane, at);
  }

  every(ms: number): void {
    this.#everyMs = ms;
    this.wake(EVERY, this.#clock.now() + ms);
  }

  serve(): void {
    this.#isServed = true;
    this.#fill();
  }

  async leave(): Promise<void> {
    this.#isServed = false;
    await Promise.all(this.#running);
  }

  count(now: number): LanesCount {
    const states = [...this.#lanes.values()];
    const of = (state: Lane["state"]): number => states.filter((lane) => lane.state === state).length;
    const first = this.#lanes.get(this.#ready[0] ?? "");
    return {
      waiting: of("ready"),
      sleeping: of("sleeping"),
      running: of("running"),
      oldestMs: first ? Math.max(0, now - first.at) : 0,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const lane of this.#lanes.values()) lane.timer?.cancel();
    this.#ready.length = 0;
    await Promise.all(this.#running);
    this.#lanes.clear();
  }

  #sleep(key: string, lane: Lane, at: number): void {
    lane.timer?.cancel();
    lane.timer = undefined;
    lane.at = at;
    const ms = at - this.#clock.now();
    if (ms > 0) {
      lane.state = "sleeping";
      lane.timer = this.#clock.after(ms, () => this.#makeReady(key, lane));
    } else {
      this.#makeReady(key, lane);
    }
  }

  #makeReady(key: string, lane: Lane): void {
    if (this.#closed) return;
    lane.state = "ready";
    lane.timer = undefined;
    this.#ready.push(key);
    this.#fill();
  }

  #fill(): void {
    while (this.#isServed && this.#running.size < this.#work.concurrency) {
      const key = this.#ready.shift();
      if (key === undefined) return;
      const lane = this.#lanes.get(key);
      if (!lane) continue;
      const run = this.#run(key, lane);
      this.#running.add(run);
      void run.finally(() => {
        this.#running.delete(run);
        this.#fill();
      });
    }
  }

  /** Never rejects. */
  async #run(key: string, lane: Lane): Promise<void> {
    lane.state = "running";
    lane.at = key === EVERY ? this.#clock.now() + this.#everyMs : Number.POSITIVE_INFINITY;
    try {
      await this.#work.run(key);
      lane.failures = 0;
    } catch (err) {
      lane.failures += 1;
      const waitMs = retryWaitMs(lane.failures);
      lane.at = Math.min(lane.at, this.#clock.now() + waitMs);
      this.#log.error({ topic: this.#topic, key, err, waitMs }, "work failed, again after a wait");
    }
    if (this.#closed || lane.at === Number.POSITIVE_INFINITY) this.#lanes.delete(key);
    else this.#sleep(key, lane, lane.at);
  }
}
