import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import Sqlite from "better-sqlite3";
import { afterEach, expect, it } from "vitest";
import { pause } from "../../src/core/clock.ts";
import { type Json, listOf, type Reply } from "../support/models/server.ts";
import { agentFile, gate, type World, world } from "../support/telegram-perch.ts";

const PRELOAD = pathToFileURL(join(import.meta.dirname, "../support/crash-preload.mjs")).href;
const ADA = { id: 700_300_001, firstName: "Ada" } as const;

let at: World | undefined;
afterEach(() => at?.close());

/** A Perch whose agent has these keys beside its model. */
async function setUp(options: {
  readonly agent: string;
  readonly says: Reply;
  readonly root?: string;
  readonly rate?: number;
}): Promise<World> {
  const { agent, says, root = "", rate = 1 } = options;
  at = await world({
    channel: "open: true, acknowledge: allow-arbitrary-senders, live: off",
    root,
    says,
    rate,
  });
  const withKeys = (keys: string, prompt: string): string =>
    agentFile(at!.model, prompt).replace("---\n", `---\n${keys}\n`); // just set
  await at.folder.write("config/agents/helper.md", withKeys(agent, "You are the boss."));
  await at.folder.write("config/agents/scout.md", withKeys("about: Looks around.", "You are scout."));
  return at;
}

const isMemory = (body: Json): boolean => JSON.stringify(body).includes("You keep an assistant's memory");

/** For each message with calls: the ids of the results directly behind it, as many as it has calls. */
function resultsAfterCalls(body: Json | undefined): readonly (readonly unknown[])[] {
  const messages = listOf(body?.["messages"]);
  return messages.flatMap((message, place) => {
    const calls = listOf(message["tool_calls"]);
    if (calls.length === 0) return [];
    return [messages.slice(place + 1, place + 1 + calls.length).map((result) => result["tool_call_id"])];
  });
}

it("THR-04: a process that was killed in the middle of a tool leaves no call without a result", async () => {
  const called = gate();
  let asked = 0;
  const { telegram, model, start } = await setUp({
    agent: "subagents: [scout]",
    says: ({ body }) => {
      const text = JSON.stringify(body["messages"]);
      if (text.includes("You are scout")) {
        asked += 1;
        called.open();
        // The tool runs, and has no result when its process ends.
        return asked === 1 ? { fault: "silence" } : "There are nine ships.";
      }
      if (text.includes("go on")) return "Gone on.";
      if (listOf(body["messages"]).at(-1)?.["role"] === "tool") return "Dug.";
      return { toolCalls: [{ name: "task", args: { subagent: "scout", prompt: "Count." }, id: "c1" }] };
    },
  });
  const ada = telegram.privateChat(ADA);
  const first = await start();
  ada.sendText("dig");
  await called.opened;
  await first.kill();
  ada.sendText("go on");
  const answered = telegram.sentMatching(({ text }) => text?.includes("Gone on.") ?? false);
  await start();
  await answered;
  expect(resultsAfterCalls(model.requests.at(-1)?.body)).toEqual([["c1"]]);
  for (const { body } of model.requests)
    for (const results of resultsAfterCalls(body)) expect(results).not.toContain(undefined);
}, 90_000);

const REMEMBERS = "memory: { facts: true, quietSeconds: 3, mostSeconds: 60 }";

/** What is remembered, by the person it is of. */
function stored(perch: World): readonly { readonly subject: string; readonly content: string }[] {
  const database = new Sqlite(join(perch.folder.path, "data/perch.db"), { readonly: true });
  try {
    expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
    return database
      .prepare("select subject, content from memory_fact order by subject, content")
      .all() as readonly { readonly subject: string; readonly content: string }[]; // these columns
  } finally {
    database.close();
  }
}

it.each([
  ["while a fact is being written", { PERCH_CRASH_BEFORE: 'insert into "memory_fact"' }],
  ["when the update is on the disk", { PERCH_CRASH_AFTER: 'insert into "memory_fact"' }],
])(
  "MEM-09: twenty updates at once, and kill -9 %s: what is stored is whole, and none is lost",
  async (_when, crash) => {
    const people = Array.from({ length: 20 }, (_, n) => ({ id: 700_300_100 + n, firstName: `P${n}` }));
    const perch = await setUp({
      agent: REMEMBERS,
      rate: 4,
      says: ({ body }) => {
        if (!isMemory(body)) return "ok";
        const [, who = ""] = /I am number (\d+)/.exec(JSON.stringify(body)) ?? [];
        const fact = (content: string) => ({ content, confidence: 0.9, saidAt: 1 });
        return JSON.stringify({ facts: [fact(`is number ${who}`), fact(`counts from ${who}`)] });
      },
    });
    const armed = join(perch.folder.path, "armed");
    writeFileSync(armed, "");
    const first = perch.spawn({ NODE_OPTIONS: `--import ${PRELOAD}`, PERCH_CRASH_IF: armed, ...crash });
    await first.said(/Perch is ready/);
    for (const one of people) perch.telegram.privateChat(one).sendText(`I am number ${one.id}`);
    expect(await first.ended).toBeNull();
    const byPerson = new Map<string, number>();
    for (const { subject } of stored(perch)) byPerson.set(subject, (byPerson.get(subject) ?? 0) + 1);
    // The old version of a person has nothing, the new one both.
    for (const count of byPerson.values()) expect(count).toBe(2);
    rmSync(armed);
    const second = await perch.start();
    await expect.poll(() => stored(perch).length, { timeout: 60_000, interval: 250 }).toBe(40);
    expect(await second.stop()).toBe(0);
    expect(stored(perch)).toEqual(
      people.flatMap(({ id }) => [
        { subject: String(id), content: `counts from ${id}` },
        { subject: String(id), content: `is number ${id}` },
      ]),
    );
  },
  120_000,
);

it("MEM-22: SIGTERM a second after a conversation does not wait out its quiet time, and loses nothing of it", async () => {
  const perch = await setUp({
    agent: "memory: { facts: true, quietSeconds: 600, mostSeconds: 3600 }",
    root: "turns: { graceSeconds: 10 }",
    says: ({ body }) =>
      isMemory(body) ? '{"facts":[{"content":"likes tea","confidence":0.9,"saidAt":1}]}' : "ok",
  });
  const first = await perch.start();
  perch.telegram.privateChat(ADA).sendText("I like tea");
  await perch.telegram.untilSent(ADA.id, 1);
  await pause(perch.clock, 1_000);
  const before = perch.clock.now();
  expect(await first.stop()).toBe(0);
  expect(perch.clock.now() - before).toBeLessThan(60_000);
  expect(stored(perch)).toEqual([{ subject: String(ADA.id), content: "likes tea" }]);
  expect(perch.model.requests.filter(({ body }) => isMemory(body))).toHaveLength(1);
  // It is done, and not done again.
  const second = await perch.start();
  expect(await second.stop()).toBe(0);
  expect(perch.model.requests.filter(({ body }) => isMemory(body))).toHaveLength(1);
}, 60_000);
