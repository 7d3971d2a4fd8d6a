import type { Config } from "../config/load.ts";
import { type Clock, deadline } from "../core/clock.ts";
import type { Meter } from "../core/meter.ts";
import type { ConnectionShown } from "../core/standing.ts";
import type { Tracer } from "../core/tracing.ts";
import { unlessAborted } from "../core/unless-aborted.ts";
import type { Database } from "../store/database.ts";
import { type Depth, depths } from "../store/depths.ts";

/** Whoever collects the numbers waits for ten seconds, by itself. */
const LONGEST_MS = 5_000;

/** What is told of the work, as far as the operator wants it: numbers, and the way of messages. */
export type Measured = {
  /** For the gateway. */
  readonly told: { readonly meter?: Meter; readonly tracer?: Tracer };
  /** For the web server. */
  readonly shown: { readonly metrics?: { text(): Promise<string>; readonly contentType: string } };
  close(): Promise<void>;
};

/** The libraries for it are loaded where it is wanted. */
export async function measured(
  { telemetry }: Pick<Config, "telemetry">,
  by: {
    readonly database: Database;
    readonly clock: Clock;
    readonly connections: () => readonly ConnectionShown[];
    readonly running: () => number;
  },
): Promise<Measured> {
  const numbers = telemetry.metrics ? await numbersOf(by) : undefined;
  const spans =
    telemetry.traces === undefined
      ? undefined
      : (await import("../operations/traces.ts")).traces(telemetry.traces);
  return {
    told: { ...(numbers ? { meter: numbers.meter } : {}), ...(spans ? { tracer: spans.tracer } : {}) },
    shown: numbers ? { metrics: numbers } : {},
    close: async () => await spans?.close(),
  };
}

async function numbersOf({ database, clock, connections, running }: Parameters<typeof measured>[1]) {
  const { metrics } = await import("../operations/metrics.ts");
  return metrics(async () => {
    const now = clock.now();
    const waiting = await waitingIn(database, clock);
    return {
      queues: waiting.map(({ what, depth, since }) => ({
        what,
        depth,
        oldestSeconds: since === 0 ? 0 : Math.max(now - since, 0) / 1_000,
      })),
      channels: connections(),
      running: running(),
    };
  });
}

/** While the database is away, what only it knows is left out, and the rest is told all the same. */
async function waitingIn({ db }: Database, clock: Clock): Promise<readonly Depth[]> {
  const late = deadline(clock, LONGEST_MS, new Error("no answer"));
  try {
    return await unlessAborted(depths(db, clock.now()), late.signal);
  } catch {
    return [];
  } finally {
    late.clear();
  }
}
