import { chatIn, keyOf } from "../../src/memory/owners.ts";
import { afterEach, describe, expect, it } from "vitest";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { createAgentRunner } from "../../src/agent/runner.ts";
import type { AgentDefinition } from "../../src/core/agent.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { inProcess } from "../../src/dispatch/in-process.ts";
import { DISTILLED_AT_ONCE, Memory } from "../../src/memory/memory.ts";
import { touch, type Touch } from "../../src/store/memory.ts";
import { factsOf } from "../../src/store/memory-facts.ts";
import { definition, memoryBlobs, turn } from "../agent/set-up.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { type ManualClock, manualClock, settle } from "../support/clock.ts";
import { onSqlite } from "../support/database.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { ModelServer } from "../support/models/server.ts";
import { facts, MEMORY_SETTINGS } from "./remembering.ts";

const open = onSqlite();
const servers: ModelServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** A clock that tells how many of its timers are set, and how often one has run. */
function counting(clock: Clock): { readonly clock: Clock; armed(): number; fired(): number } {
  const set = new Set<object>();
  let ran = 0;
  return {
    clock: {
      now: () => clock.now(),
      after(ms, call) {
        const timer = clock.after(ms, () => {
          set.delete(timer);
          ran += 1;
          call();
        });
        set.add(timer);
        return {
          cancel() {
            set.delete(timer);
            timer.cancel();
          },
        };
      },
    },
    armed: () => set.size,
    fired: () => ran,
  };
}

/** Memory on a real database, dispatcher and model, without the rest of a gateway. */
async function setUp(agent: Partial<AgentDefinition> = {}): Promise<{
  readonly clock: ManualClock;
  readonly server: ModelServer;
  readonly timers: ReturnType<typeof counting>;
  readonly logged: LoggedLine[];
  /** Says something on the thread. */
  say(text: string): Promise<void>;
  /** A turn has ended. */
  touched(): Promise<void>;
  until(holds: () => boolean): Promise<void>;
  remembered(): Promise<readonly string[]>;
}> {
  const database = await open();
  const clock = manualClock();
  const timers = counting(clock);
  const logged: LoggedLine[] = [];
  const log = memoryLog(logged);
  const server = await startOpenAi({ clock, otherwise: "ok" });
  servers.push(server);
  const helper = definition({
    model: { provider: "openai", name: "local", baseUrl: server.url, apiKey: "k" },
    memory: MEMORY_SETTINGS,
    ...agent,
  });
  const saver = new MemorySaver();
  const runner = createAgentRunner({ saver: async () => saver, blobs: memoryBlobs(), clock, log });
  const memory: Memory = new Memory({
    database,
    desk: runner,
    agent: () => helper,
    folder: () => "/nowhere",
    bounded: async () => undefined,
    clock,
    log,
    wake: (key, at) => dispatcher.wake("memory", key, at),
  });
  const idle = { concurrency: 1, run: async () => {} };
  const work = { concurrency: DISTILLED_AT_ONCE, run: (key: string) => memory.run(key) };
  const works = { fetch: idle, turn: idle, deliver: idle, task: idle, forget: idle, memory: work };
  const dispatcher = inProcess(works, timers.clock, log);
  const owner = { scope: "person", channel: "toy", subject: "ada", agent: "helper" } as const;
  const of: Touch = {
    owner,
    thread: "7/helper/1",
    chat: 7 as ChatId, // a chat of the test's own
    signals: [],
    quietMs: 30_000,
    mostMs: 300_000,
  };
  let messages = 0;
  return {
    clock,
    server,
    timers,
    logged,
    async say(text) {
      messages += 1;
      await runner.run(turn(helper, `intent-${messages}`, text), new AbortController().signal);
    },
    async touched() {
      await database.light((trx) => touch(trx, of, clock.now()));
      memory.committed([of]);
    },
    async until(holds) {
      for (let round = 0; !holds(); round += 1) {
        if (round > 100_000) throw new Error("it never came to be");
        await settle();
      }
      await settle();
    },
    remembered: async () => (await factsOf(database.db, owner)).map(({ content }) => content),
  };
}

const gone = (logged: readonly LoggedLine[]): number =>
  logged.filter(({ sentence }) => sentence === "a conversation was gone through for memory").length;

describe("the queue of what is to be remembered", () => {
  it("MEM-02: 500 turns while a model is asked are one call more, without a timer that spins", async () => {
    const { clock, server, timers, say, touched, until, logged, remembered } = await setUp();
    await say("the first");
    await touched();
    server.reply({ text: facts("one"), delayMs: 2_000 });
    await clock.advance(30_000);
    await until(() => server.requests.length === 2);
    const before = timers.fired();
    await say("in between");
    for (let one = 0; one < 500; one += 1) await touched();
    // The model still answers, and nothing of memory has moved.
    expect([gone(logged), timers.fired() - before]).toEqual([0, 0]);
    await clock.advance(2_000);
    await until(() => gone(logged) === 1);
    server.reply(facts("two"));
    await clock.advance(30_000);
    await until(() => gone(logged) === 2);
    await clock.advance(600_000);
    expect(server.requests).toHaveLength(4); // two turns, two conversations
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("in between");
    expect(timers.fired() - before).toBeLessThan(6);
    expect(await remembered()).toEqual(["one", "two"]);
  });

  it("MEM-07: whatever runs between, exactly one timer is set, and none is lost", async () => {
    // Nothing but the race: a model that has nothing to say is not asked.
    const { clock, timers, touched, until, logged } = await setUp({
      model: { provider: "demo", name: "demo" },
    });
    for (let round = 1; round <= 1_000; round += 1) {
      await touched();
      expect(timers.armed()).toBe(1);
      const ends = gone(logged) + 1;
      // One more comes while it is gone through, at another step of it in each round.
      const run = clock.advance(30_000);
      for (let step = 0; step < round % 12; step += 1) await Promise.resolve();
      if (round % 3 === 0) await touched();
      await run;
      await until(() => gone(logged) >= ends);
      expect(timers.armed()).toBeLessThanOrEqual(1);
      if (timers.armed() === 0) continue;
      await clock.advance(60_000);
      await until(() => timers.armed() === 0);
    }
    expect(timers.armed()).toBe(0);
  }, 60_000);
});

it("wakes by a number, not by a person: keys stand in a dispatcher that may be another program", () => {
  const key = keyOf(7 as ChatId, "helper");
  expect([key, chatIn(key)]).toEqual(["7/helper", { chat: 7, agent: "helper" }]);
});
