import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Meter } from "../core/meter.ts";

/** What is looked up when somebody asks: it is true of the whole database, not of this process alone. */
export type Looked = {
  /** What waits, by what it waits for, and how long the oldest of it has waited, in seconds; 0 where nothing waits. */
  readonly queues: readonly {
    readonly what: string;
    readonly depth: number;
    readonly oldestSeconds: number;
  }[];
  /** Connections of this process and where they stand: `ConnectionShown.is`. */
  readonly channels: readonly { readonly id: string; readonly is: string }[];
  /** Turns that run in this process. */
  readonly running: number;
};

export type Metrics = {
  readonly meter: Meter;
  /** Prometheus' text format. What could not be looked up is left out. */
  text(): Promise<string>;
  readonly contentType: string;
};

/** Answers come in tenths of a second to minutes. */
const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** The numbers of one process, for Prometheus; `look` is asked at each scrape. */
export function metrics(look: () => Promise<Looked>): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name: `perch_${name}`, help, labelNames: [...labelNames], registers: [registry] });
  const seconds = (name: string, help: string) =>
    new Histogram({
      name: `perch_${name}_seconds`,
      help,
      labelNames: ["agent"],
      buckets: SECONDS,
      registers: [registry],
    });
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Gauge({ name: `perch_${name}`, help, labelNames: [...labelNames], registers: [registry] });

  const events = counter("events_total", "Events that platforms handed over.", ["channel", "outcome"]);
  const turns = counter("turns_total", "Turns that have ended, by how.", [
    "agent",
    "channel",
    "state",
    "error",
  ]);
  const waited = seconds("turn_wait", "From the first message's commit until its turn began.");
  const took = seconds("turn", "How long turns took.");
  const tokens = counter("tokens_total", "Tokens that models took and gave.", ["agent", "model", "kind"]);
  const cost = counter("cost_total", "What models cost, in the operator's currency.", ["agent", "model"]);
  const pieces = counter("deliveries_total", "Pieces of answers, by what became of them.", [
    "channel",
    "outcome",
  ]);
  const depth = gauge("queue_depth", "What waits in the database, for all processes.", ["what"]);
  const oldest = gauge("queue_oldest_seconds", "How long the oldest of it has waited.", ["what"]);
  const states = gauge("channel_state", "1 for where a connection of this process stands.", [
    "channel",
    "is",
  ]);
  const running = gauge("turns_running", "Turns that run in this process.", []);

  return {
    contentType: registry.contentType,
    meter: {
      accepted: (channel, count) => events.inc({ channel, outcome: "committed" }, count),
      refused: (channel, count) => events.inc({ channel, outcome: "kept_by_platform" }, count),
      turn({ agent, channel, state, error, waitedMs, tookMs }) {
        turns.inc({ agent, channel, state, error });
        waited.observe({ agent }, waitedMs / 1_000);
        took.observe({ agent }, tookMs / 1_000);
      },
      used({ agent, model, inputTokens, cachedTokens, outputTokens, costMicros }) {
        tokens.inc({ agent, model, kind: "input" }, inputTokens);
        tokens.inc({ agent, model, kind: "cached" }, cachedTokens);
        tokens.inc({ agent, model, kind: "output" }, outputTokens);
        cost.inc({ agent, model }, costMicros / 1_000_000);
      },
      piece: (channel, outcome) => pieces.inc({ channel, outcome }),
    },
    async text() {
      for (const looked of [depth, oldest, states]) looked.reset();
      const found = await look();
      for (const queue of found.queues) {
        depth.set({ what: queue.what }, queue.depth);
        oldest.set({ what: queue.what }, queue.oldestSeconds);
      }
      for (const { id, is } of found.channels) states.set({ channel: id, is }, 1);
      running.set(found.running);
      return await registry.metrics();
    },
  };
}
