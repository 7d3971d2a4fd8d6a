import type { Clock, Timer } from "../core/clock.ts";
import type { Dispatcher, Topic, Work } from "../core/dispatcher.ts";
import type { Log } from "../core/log.ts";

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** The dispatcher of one process: timers and maps. Only keys with work are kept, so an idle gateway holds nothing. */
export function inProcess(works: Readonly<Record<Topic, Work>>, clock: Clock, log: Log): Dispatcher {
  const lanes = {
    fetch: new TopicLanes("fetch", works.fetch, clock, log),
    turn: new TopicLanes("turn", works.turn, clock, log),
    deliver: new TopicLanes("deliver", works.deliver, clock, log),
    task: new TopicLanes("task", works.task, clock, log),
    memory: new TopicLanes("memory", works.memory, clock, log),
    forget: new TopicLanes("forget", works.forget, clock, log),
  } satisfies Record<Topic, TopicLanes>;
  return {
    wake: (topic, key, at) => lanes[topic].wake(key, at),
    close: async () => {
      await Promise.all(Object.values(lanes).map((topic) => topic.close()));
    },
  };
}

type Lane = {
  state: "sleeping" | "ready" | "running";
  timer?: Timer | undefined;
  /** When a sleeping lane wakes; for a running one, when it is to run again. */
  at: number;
  failures: number;
};

class TopicLanes {
  readonly #topic: Topic;
  readonly #work: Work;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #lanes = new Map<string, Lane>();
  readonly #ready: string[] = [];
  readonly #running = new Set<Promise<void>>();
  #closed = false;

  constructor(topic: Topic, work: Work, clock: Clock, log: Log) {
    this.#topic = topic;
    this.#work = work;
    this.#clock = clock;
    this.#log = log;
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
    while (this.#running.size < this.#work.concurrency) {
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
    lane.at = Number.POSITIVE_INFINITY;
    try {
      await this.#work.run(key);
      lane.failures = 0;
    } catch (err) {
      lane.failures += 1;
      const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (lane.failures - 1), LONGEST_RETRY_MS);
      lane.at = Math.min(lane.at, this.#clock.now() + waitMs);
      this.#log.error({ topic: this.#topic, key, err, waitMs }, "work failed, again after a wait");
    }
    if (this.#closed || lane.at === Number.POSITIVE_INFINITY) this.#lanes.delete(key);
    else this.#sleep(key, lane, lane.at);
  }
}
