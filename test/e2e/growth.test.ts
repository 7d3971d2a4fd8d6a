import { readFile } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import { afterEach, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import { systemClock } from "../../src/core/clock.ts";
import { realAgents } from "../support/agents.ts";
import { AGENT, testGateway } from "../support/gateway.ts";
import { startOpenAi } from "../support/models/openai.ts";

const TURNS = process.env["PERCH_LONG"] ? 1_000 : 200;
const PHOTO = join(import.meta.dirname, "../fixtures/media/photo.jpg");
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

it(
  `complaint 75: writes as much in turn ${TURNS} as in turn 50, and never a picture's bytes`,
  { timeout: 600_000 },
  async () => {
    const model = await startOpenAi();
    cleanups.push(() => model.close());
    const agent: AgentDefinition = {
      ...AGENT,
      model: { provider: "openai", name: "test", baseUrl: model.url, apiKey: "none" },
    };
    const gateway = await testGateway({
      clock: systemClock,
      agents: [agent],
      runner: realAgents(),
    });
    cleanups.push(gateway.close);
    const { platform, database } = gateway;
    const photo = await readFile(PHOTO);
    const written: number[] = [];
    const took: number[] = [];
    for (let turn = 1; turn <= TURNS; turn += 1) {
      // Each picture is another one: the same bytes twice would hide what is written.
      const background = { r: turn % 256, g: turn >> 8, b: 128 };
      const corner = { input: { create: { width: 16, height: 16, channels: 3 as const, background } } };
      const bytes = await sharp(photo)
        .composite([{ ...corner, left: 0, top: 0 }])
        .jpeg()
        .toBuffer();
      platform.files.set(`f${turn}`, chunksOf(bytes));
      const words = { type: "text", text: `turn ${turn}: ${"words ".repeat(20)}` } as const;
      const picture = { type: "unfetched", kind: "image", ref: `f${turn}`, declared: {} } as const;
      const before = await pagesWritten();
      const begun = performance.now();
      await platform.say("c1", turn % 10 === 0 ? [words, picture] : [words], { whole: true });
      await platform.until((shown) => shown.length >= turn);
      took.push(performance.now() - begun);
      written.push((await pagesWritten()) - before);
    }
    const around50 = median(written.slice(38, 63));
    const last = median(written.slice(-25));
    if (process.env["PERCH_COUNTS"]) {
      const ms = (turns: readonly number[]): string => median(turns).toFixed(1);
      console.log(`bytes a turn: ${around50} at turn 50, ${last} at turn ${TURNS}`);
      console.log(`ms a turn: ${ms(took.slice(38, 63))} at turn 50, ${ms(took.slice(-25))} at turn ${TURNS}`);
    }
    expect(last).toBeLessThanOrEqual(around50 * 1.5);
    // The model was sent a bounded thread, with the last pictures in it.
    const request = JSON.stringify(model.requests.at(-1)?.body);
    expect(request).toContain("data:image/jpeg;base64,");
    expect(request.match(/data:image/g)?.length).toBeLessThanOrEqual(AGENT.limits.mediaTurns);

    await database.db.executeQuery({
      sql: "pragma wal_checkpoint(truncate)",
      parameters: [],
      query: { kind: "RawNode" },
    } as never); // a pragma has no builder
    const file = await readFile(join(gateway.folder, "perch.db"), "latin1");
    expect(file).not.toMatch(/[A-Za-z0-9+/]{1000}/);

    /** Bytes that this process has had written to storage, as Linux counts them; the size of the log elsewhere. */
    async function pagesWritten(): Promise<number> {
      const io = await readFile("/proc/self/io", "utf8").catch(() => "");
      const counted = /^write_bytes: (\d+)$/m.exec(io)?.[1];
      return counted === undefined
        ? (await readFile(join(gateway.folder, "perch.db-wal"))).length
        : Number(counted);
    }
  },
);

function chunksOf(bytes: Uint8Array): () => AsyncIterable<Uint8Array> {
  return async function* () {
    yield bytes;
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
