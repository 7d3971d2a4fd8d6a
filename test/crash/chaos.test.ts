import { expect, it } from "vitest";
import { chaosRun } from "../support/chaos-run.ts";
import { NO_OWN_POSTGRES } from "../support/postgres.ts";
import { NO_OWN_REDIS } from "../support/redis.ts";

const SEED = Number(process.env["PERCH_SEED"] ?? 7);
const SIZE = process.env["PERCH_LONG"]
  ? { chats: 200, each: 20, workers: 4, killEveryMs: 2_000, mostKills: Infinity, breakAfterMs: 20_000 }
  : { chats: 8, each: 8, workers: 2, killEveryMs: 3_000, mostKills: 6, breakAfterMs: 2_000 };

it.skipIf(NO_OWN_REDIS || NO_OWN_POSTGRES)(
  "answers every message once and in order while processes are killed and Redis and PostgreSQL go away",
  { timeout: 2_400_000 },
  async () => {
    const counts = await chaosRun({ ...SIZE, seed: SEED });
    if (process.env["PERCH_COUNTS"]) console.log(JSON.stringify(counts));
    expect(counts).toMatchObject({ lost: [], twice: [], disordered: [] });
    expect(counts.restarts).toEqual({ redis: 1, postgres: 1 });
    expect(counts.kills.channels + counts.kills.workers).toBeGreaterThan(0);
  },
);
