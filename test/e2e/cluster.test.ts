import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { NO_OWN_POSTGRES } from "../support/postgres.ts";
import { NO_OWN_REDIS } from "../support/redis.ts";
import { cluster, type TestCluster } from "../support/cluster.ts";
import type { Running } from "../support/perch-process.ts";
import { gate, lastAsked } from "../support/telegram-perch.ts";
import type { Voice } from "../support/telegram/people.ts";

const PATIENCE = { timeout: 120_000 };

describe.skipIf(NO_OWN_REDIS || NO_OWN_POSTGRES)("a Perch of several processes", PATIENCE, () => {
  let at: TestCluster;
  let channels: Running;
  const workers: Running[] = [];
  /** Whose turns wait, by a word of theirs. */
  const held = new Map<string, Promise<void>>();
  let people = 800_100_000;

  beforeAll(async () => {
    at = await cluster({
      channel: "open: true, acknowledge: allow-arbitrary-senders, turnsPerHour: 1000",
      root: "turns: { graceSeconds: 2 }",
      says: (request) => ({ text: `heard: ${lastAsked(request).text.slice(0, 60)}`, wordMs: 5 }),
    });
    at.model.on("request", async (request) => {
      const { text } = lastAsked(request);
      await [...held].find(([word]) => text.includes(word))?.[1];
    });
    channels = await at.join("channels");
    workers.push(await at.join("workers"), await at.join("workers"));
  }, 120_000);
  afterAll(() => at.close());

  function someone(): Voice {
    people += 1;
    return at.telegram.privateChat({ id: people, firstName: `P${people}` });
  }

  /** The emulator waits for 20 s; what takes over from the dead takes longer. */
  const answered = async (voice: Voice, count: number): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return void (await at.telegram.untilSent(voice.chatId, count));
      } catch (error) {
        if (tries === 5) throw error;
      }
    }
  };

  const answersIn = (voice: Voice): readonly string[] =>
    at.telegram.shown(voice.chatId).flatMap(({ from, text }) => (from?.is_bot ? [text ?? ""] : []));

  it("answers what comes in at one process in another, each chat in order", async () => {
    const voices = Array.from({ length: 8 }, someone);
    for (const voice of voices) voice.sendText("one");
    await Promise.all(voices.map((voice) => at.telegram.untilSent(voice.chatId, 1)));
    for (const voice of voices) voice.sendText("two");
    await Promise.all(voices.map((voice) => at.telegram.untilSent(voice.chatId, 2)));
    expect(voices.map(answersIn)).toEqual(voices.map(() => ["heard: one", "heard: two"]));
    expect(channels.output()).not.toContain("a turn failed");
  });

  it("ends a turn where it runs when somebody says /stop where they are heard", async () => {
    const voice = someone();
    const { opened, open } = gate();
    held.set("slowly", opened);
    const asked = at.model.requests.length;
    voice.sendText("slowly please");
    await at.telegram.until(() => at.model.requests.length > asked, "the question");
    voice.sendText("/stop");
    await at.telegram.untilSent(voice.chatId, 1);
    voice.sendText("and now");
    await at.telegram.untilSent(voice.chatId, 2);
    open();
    expect(answersIn(voice)).toEqual([expect.stringMatching(/stopped/i), "heard: and now"]);
  });

  it("shows a draft that is written in another process", async () => {
    const before = at.telegram.drafts.length;
    const voice = someone();
    voice.sendText("a rather long text, so that its answer takes a while to be written down word by word");
    await at.telegram.untilSent(voice.chatId, 1);
    const typing = at.telegram.calls.some(
      ({ method, parameters }) =>
        method === "sendChatAction" && String(parameters["chat_id"]) === String(voice.chatId),
    );
    expect(typing || at.telegram.drafts.length > before).toBe(true);
  });

  it("goes on with a killed worker's turn in another, and answers it once", async () => {
    const voice = someone();
    const { opened, open } = gate();
    held.set("survive", opened);
    const asked = at.model.requests.length;
    voice.sendText("survive this");
    await at.telegram.until(() => at.model.requests.length > asked, "the question");
    // Nobody knows which of them has it.
    await Promise.all(workers.splice(0).map((worker) => worker.kill()));
    held.delete("survive");
    open();
    workers.push(await at.join("workers"));
    // A hold ends by itself after a minute.
    await answered(voice, 1);
    expect(answersIn(voice)).toEqual(["heard: survive this"]);
  });

  it("hands a turn over at once when its worker is to stop and the grace is over", async () => {
    const voice = someone();
    const { opened, open } = gate();
    held.set("hand over", opened);
    const asked = at.model.requests.length;
    voice.sendText("hand over this");
    await at.telegram.until(() => at.model.requests.length > asked, "the question");
    held.delete("hand over");
    const leaving = workers.splice(0);
    workers.push(await at.join("workers"));
    expect(await Promise.all(leaving.map((worker) => worker.stop()))).toEqual(leaving.map(() => 0));
    const left = systemClock.now();
    await answered(voice, 1);
    // The sweep would find it within 30 s.
    expect(systemClock.now() - left).toBeLessThan(10_000);
    open();
    expect(answersIn(voice)).toEqual(["heard: hand over this"]);
  });

  it("gives a connection to another process when its own has ended", async () => {
    const other = await at.join("channels");
    const voice = someone();
    expect(await channels.stop()).toBe(0);
    channels = other;
    voice.sendText("still there?");
    await answered(voice, 1);
    expect(answersIn(voice)).toEqual(["heard: still there?"]);
  });

  it("finds all work again in an emptied Redis", async () => {
    const voice = someone();
    await at.redis.run("FLUSHALL");
    voice.sendText("after the flood");
    await answered(voice, 1);
    expect(answersIn(voice)).toEqual(["heard: after the flood"]);
  });
});
