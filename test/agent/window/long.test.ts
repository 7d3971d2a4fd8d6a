import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { createAgentRunner } from "../../../src/agent/runner.ts";
import { ThreadSaver } from "../../../src/agent/threads.ts";
import { readHistory } from "../../../src/agent/window/history.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { FileBlobs } from "../../../src/store/blobs.ts";
import { openSqlite } from "../../../src/store/sqlite.ts";
import { threadStore } from "../../../src/store/threads.ts";
import { memoryLog } from "../../support/channel-host.ts";
import { startOpenAi } from "../../support/models/openai.ts";
import { type Json, listOf } from "../../support/models/server.ts";
import { definition, turn } from "../set-up.ts";
import { asksForSummary } from "./thread-server.ts";

const TURNS = process.env["PERCH_LONG"] ? 2_000 : 160;
const WINDOW = 4_000;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Offers choices first, which is a call of a tool, and says something then. */
function answering(body: Json) {
  if (asksForSummary(body)) return "They went on and on about birds, and what to choose of them.";
  const last = listOf(body["messages"]).at(-1);
  if (last?.["role"] === "tool") return "Choose one of them.";
  return { toolCalls: [{ name: "offer_choices", args: { choices: ["Heron", "Stork"] } }] };
}

it(
  `keeps rows, requests and what is written the same over ${TURNS} turns with tools, and loses nothing of them`,
  { timeout: 1_800_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "perch-long-"));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const database = await openSqlite(join(folder, "perch.db"));
    cleanups.push(() => database.close());
    const server = await startOpenAi({ otherwise: ({ body }) => answering(body) });
    cleanups.push(() => server.close());
    const agent = definition({
      model: { provider: "openai", name: "local", baseUrl: server.url, apiKey: "k" },
      choices: true,
      limits: { turnSeconds: 60, messages: 400, characters: 400_000, mediaTurns: 2, contextTokens: WINDOW },
    });
    const blobs = new FileBlobs(join(folder, "blobs"));
    const saver = new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 2 });
    const runner = createAgentRunner({
      saver: async () => saver,
      blobs,
      clock: systemClock,
      log: memoryLog([]),
    });
    const chat = await database.db
      .insertInto("chat")
      .values({ channel: "toy", kind: "private", owner: "test", epoch: 1, until: Number.MAX_SAFE_INTEGER })
      .returning("id")
      .executeTakeFirstOrThrow();
    const thread = `${chat.id}/helper/1`;

    const rows: number[] = [];
    const written: number[] = [];
    const sizes: number[] = [];
    let asked = 0;
    for (let n = 1; n <= TURNS; n += 1) {
      const before = await bytesWritten();
      const said = { ...turn(agent, `intent-${n}`, `Turn ${n}: ${"words ".repeat(20)}`), thread, folder };
      const answer = await runner.run(
        { ...said, hold: { chat: chat.id, owner: "test", epoch: 1 } },
        new AbortController().signal,
      );
      expect(answer.markdown).toBe("Choose one of them.");
      written.push((await bytesWritten()) - before);
      rows.push(await rowsOf());
      const requests = server.requests.slice(asked).filter(({ body }) => !asksForSummary(body));
      asked = server.requests.length;
      sizes.push(...requests.map(({ body }) => JSON.stringify(body).length / 4));
    }
    const half = Math.floor(TURNS / 2);
    if (process.env["PERCH_COUNTS"])
      console.log(
        `rows ${Math.max(...rows)}, request ${Math.round(Math.max(...sizes))} tokens, ` +
          `written ${mean(written.slice(0, half))} and ${mean(written.slice(half))} bytes a turn`,
      );
    expect(Math.max(...rows.slice(half))).toBeLessThanOrEqual(Math.max(...rows.slice(0, half)) * 1.2);
    expect(Math.max(...sizes)).toBeLessThan(WINDOW);
    expect(Math.max(...sizes.slice(half))).toBeLessThanOrEqual(Math.max(...sizes.slice(0, half)) * 1.1);
    expect(mean(written.slice(half))).toBeLessThanOrEqual(mean(written.slice(0, half)) * 1.3);

    const told = await readHistory(folder, thread, "");
    const tuple = await saver.getTuple({ configurable: { thread_id: thread } });
    const left = tuple?.checkpoint.channel_values["messages"] as readonly { readonly id?: string }[]; // as STATE declares it
    const ids = new Set([...told, ...left].map(({ id }) => id));
    for (let n = 1; n <= TURNS; n += 1) expect(ids).toContain(`intent-${n}`);
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);

    /** Rows of the thread in all tables. */
    async function rowsOf(): Promise<number> {
      const tables = [
        "thread_message",
        "thread_list",
        "thread_value",
        "thread_checkpoint",
        "thread_write",
      ] as const;
      let all = 0;
      for (const table of tables) {
        const { n } = await database.db
          .selectFrom(table)
          .select((eb) => eb.fn.countAll().as("n"))
          .executeTakeFirstOrThrow();
        all += Number(n);
      }
      return all;
    }

    /** By this process to storage, as Linux counts them; elsewhere the size of the log. */
    async function bytesWritten(): Promise<number> {
      const io = await readFile("/proc/self/io", "utf8").catch(() => "");
      const counted = /^write_bytes: (\d+)$/m.exec(io)?.[1];
      return counted === undefined ? (await stat(join(folder, "perch.db-wal"))).size : Number(counted);
    }
  },
);

function mean(values: readonly number[]): number {
  return Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);
}
