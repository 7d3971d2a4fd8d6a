import { afterEach, describe, expect, it } from "vitest";
import { GatewayError } from "../../../src/core/errors.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import type { Call } from "../../support/telegram/request.ts";
import { sample } from "./fixtures.ts";
import { type Bot, type BotOptions, openBot, until } from "./set-up.ts";

const CONFLICT: Fault = {
  kind: "refuse",
  code: 409,
  description:
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
};
const TOKEN_REVOKED: Fault = { kind: "refuse", code: 401, description: "Unauthorized" };

const open: Bot[] = [];
let clock: ManualClock;
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

async function setUp(options: BotOptions = {}): Promise<Bot> {
  clock = manualClock();
  const bot = await openBot({ clock, ...options });
  open.push(bot);
  return bot;
}

function polls({ emulator }: Bot): readonly Call[] {
  return emulator.calls.filter((call) => call.method === "getUpdates");
}

/** Waits for the polls that there are to be, and for what the channel does about the last of them to be done. */
async function untilPolled(bot: Bot, count: number): Promise<void> {
  await until(() => polls(bot).length === count && bot.timers() === 1);
}

/** Waits until so many polls have failed and the channel waits to try again. */
async function untilFailed(bot: Bot, count: number): Promise<void> {
  const told = (): number =>
    bot.host.logged.filter(({ sentence }) => sentence.startsWith("Telegram could not be polled")).length;
  await until(() => told() === count && bot.timers() === 1);
}

describe("polling", () => {
  it("asks for messages alone, up to a hundred, and waits 30 s for them", async () => {
    const bot = await setUp();
    await untilPolled(bot, 1);
    expect(polls(bot)[0]?.parameters).toEqual({
      offset: 0,
      limit: 100,
      timeout: 30,
      allowed_updates: ["message"],
    });
    await clock.advance(30_000);
    await untilPolled(bot, 2);
    expect(bot.host.logged).toEqual([]);
  });

  it("commits a batch, in order, before it asks for what comes after", async () => {
    const bot = await setUp();
    const store = gate();
    bot.host.beforeAccept(() => store.opened);
    await untilPolled(bot, 1);
    bot.mira.sendText("one");
    bot.mira.sendText("two");
    await until(() => bot.host.accepts() === 1);
    const [first, second] = bot.emulator.pending();
    expect(polls(bot)).toHaveLength(1);
    store.open();
    await untilPolled(bot, 2);
    expect(bot.host.accepted.map(({ id }) => id)).toEqual([first, second].map((update) => idOf(update)));
    expect(polls(bot)[1]?.parameters["offset"]).toBe((second?.update_id ?? 0) + 1);
    expect(bot.emulator.pending()).toEqual([]);
  });

  it("begins after a restart behind what was committed last", async () => {
    const first = await setUp();
    await untilPolled(first, 1);
    first.mira.sendText("before");
    const update = first.emulator.pending()[0];
    await untilPolled(first, 2);
    await first.channel.close();
    const second = await setUp({ emulator: first.emulator, state: first.host.host.state });
    await untilPolled(second, 3);
    expect(polls(second)[2]?.parameters["offset"]).toBe((update?.update_id ?? 0) + 1);
  });

  it("takes in once what Telegram hands over again under another number", async () => {
    const bot = await setUp();
    bot.emulator.inject({ message: now(sample("text_private").message) });
    bot.emulator.inject({ message: now(sample("text_private").message) });
    await until(() => polls(bot).length === 2);
    expect(bot.host.accepted.map(({ id }) => id)).toEqual(["41"]);
  });

  it("asks for the same again, after a wait, while nothing can be stored", async () => {
    const bot = await setUp();
    await untilPolled(bot, 1);
    bot.host.refuse(new GatewayError("store.unavailable", "the disk is full"));
    bot.mira.sendText("do not lose this");
    await until(() => bot.host.accepts() === 1 && bot.timers() === 1);
    await clock.advance(1_000);
    await until(() => bot.host.accepts() === 2 && bot.timers() === 1);
    await clock.advance(1_999);
    expect(bot.host.accepts()).toBe(2);
    bot.host.refuse(undefined);
    await clock.advance(1);
    await bot.host.whenAccepted(1);
    const offsets = polls(bot).map(({ parameters }) => parameters["offset"]);
    expect(offsets.slice(0, 3)).toEqual([0, 0, 0]);
  });

  it("leaves out an update that breaks the reading of it, and takes in those around it", async () => {
    const bot = await setUp();
    bot.mira.sendText("before");
    const broken = { ...now(sample("photo_with_caption").message), photo: 5 };
    bot.emulator.inject({ message: broken as never }); // as no Bot API of today would send it
    bot.mira.sendText("after");
    await bot.host.whenAccepted(2);
    expect(bot.host.logged.map(({ sentence }) => sentence)).toEqual([
      "an update that cannot be read is left out",
    ]);
  });
});

describe("a poll that fails", () => {
  it("backs off from 5 to 60 s at a conflict, and tells once of one that lasts", async () => {
    const bot = await setUp({
      before: (emulator) => void emulator.fault({ method: "getUpdates", times: 7 }, CONFLICT),
    });
    for (let count = 1; count <= 7; count += 1) {
      await untilFailed(bot, count);
      expect(bot.host.failures).toHaveLength(count < 5 ? 0 : 1);
      while (polls(bot).length === count) await clock.advance(500);
    }
    const at = polls(bot).map((call) => call.at);
    const rounded = [5, 10, 20, 40, 60, 60, 60].map((seconds, n) => {
      const waited = ((at[n + 1] ?? 0) - (at[n] ?? 0)) / 1000;
      // Up to a quarter more by chance, and what the clock's steps are long.
      return waited > seconds - 0.5 && waited < seconds * 1.25 + 1 ? "as long as it should" : waited;
    });
    expect(rounded).toEqual(rounded.map(() => "as long as it should"));
    expect(bot.host.failures.map(({ message }) => message)).toEqual([
      "another program reads this bot's messages with the same token; stop it, or have @BotFather make a new token and set it here",
    ]);
  });

  it("goes on by itself when a conflict is over, with a line in the log", async () => {
    const bot = await setUp({
      before: (emulator) => void emulator.fault({ method: "getUpdates", times: 2 }, CONFLICT),
    });
    for (const count of [1, 2]) {
      await untilFailed(bot, count);
      while (polls(bot).length === count) await clock.advance(500);
    }
    bot.mira.sendText("hello");
    await bot.host.whenAccepted(1);
    expect(bot.host.failures).toEqual([]);
    expect(bot.host.logged.map(({ level, sentence }) => [level, sentence])).toEqual([
      ["warn", "Telegram could not be polled; tried again after a wait"],
      ["debug", "Telegram could not be polled; tried again after a wait"],
      ["info", "Telegram is polled again"],
    ]);
  });

  it("tells of a webhook, with what to do, and looks again every minute", async () => {
    const bot = await setUp();
    await untilPolled(bot, 1);
    const set = (url: string) =>
      fetch(`${bot.emulator.apiRoot}/bot${bot.emulator.token}/setWebhook?url=${encodeURIComponent(url)}`);
    await set("https://example.org/hook");
    await until(() => bot.host.failures.length === 1 && bot.timers() === 1);
    await clock.advance(60_000);
    await untilPolled(bot, 2);
    await set("");
    await clock.advance(60_000);
    await untilPolled(bot, 3);
    bot.mira.sendText("hello");
    await bot.host.whenAccepted(1);
    expect(bot.host.failures.map(({ message }) => message)).toEqual([
      "a webhook is set for this bot, and Telegram hands messages to it alone; stop the program that set it, or remove it with the Bot API's deleteWebhook",
    ]);
    expect(bot.host.recoveries).toEqual([1]);
  });

  it.each([
    ["getMe", 401, "it was revoked or mistyped"],
    ["getUpdates", 401, "it was revoked or mistyped"],
    ["getMe", 404, "it is no token, or apiRoot is no Bot API"],
  ])("ends with a sentence when %s answers %i", async (method, code, why) => {
    const fault: Fault = { ...TOKEN_REVOKED, code };
    const bot = await setUp({ before: (emulator) => void emulator.fault({ method, times: 9 }, fault) });
    await until(() => bot.host.failures.length === 1);
    await clock.advance(3_600_000);
    expect(bot.emulator.calls.filter((call) => call.method === method)).toHaveLength(1);
    expect(bot.host.failures).toMatchObject([
      {
        code: "channel.refused",
        message: `Telegram does not accept the token of the channel “family” (${code}): ${why}; set channels.family.token to what @BotFather shows under /mybots`,
      },
    ]);
    expect(bot.timers()).toBe(0);
  });

  it.each<[string, Fault, number]>([
    ["a wait that Telegram asks for", { kind: "rateLimit", seconds: 23 }, 23_000],
    [
      "a restart of Telegram",
      { kind: "refuse", code: 500, description: "Internal Server Error: restart" },
      1_000,
    ],
    ["an edge that speaks HTML", { kind: "html", status: 502, when: "before" }, 1_000],
    ["a connection that breaks", { kind: "drop", when: "before" }, 1_000],
    ["an answer that breaks off", { kind: "cut" }, 1_000],
  ])("waits out %s", async (_what, fault, waitMs) => {
    const bot = await setUp();
    await untilPolled(bot, 1);
    bot.emulator.fault({ method: "getUpdates" }, fault);
    await clock.advance(30_000);
    await until(() => polls(bot).length === 2);
    bot.mira.sendText("hello");
    await untilFailed(bot, 1);
    await clock.advance(waitMs - 1);
    expect([polls(bot).length, bot.host.accepted.length]).toEqual([2, 0]);
    await clock.advance(1);
    await bot.host.whenAccepted(1);
  });

  it("grows its waits to 30 s while the network is down", async () => {
    const bot = await setUp({
      before: (emulator) =>
        void emulator.fault({ method: "getUpdates", times: 9 }, { kind: "drop", when: "before" }),
    });
    const waits = [1, 2, 4, 8, 16, 30, 30];
    for (const [count, seconds] of waits.entries()) {
      await untilFailed(bot, count + 1);
      await clock.advance(seconds * 1000 - 1);
      expect(polls(bot)).toHaveLength(count + 1);
      await clock.advance(1);
    }
  });

  it("gives up a poll that is never answered 15 s after its end, and a send passes by it meanwhile", async () => {
    const bot = await setUp({
      before: (emulator) =>
        void emulator.fault({ method: "getUpdates" }, { kind: "silence", when: "before" }),
    });
    await untilPolled(bot, 1);
    await bot.send({ kind: "text", rendered: { text: "passes", marks: [] } });
    await clock.advance(44_999);
    expect(bot.timers()).toBe(1);
    await clock.advance(1);
    await untilFailed(bot, 1);
    await clock.advance(1_000);
    await untilPolled(bot, 2);
    bot.mira.sendText("hello");
    await bot.host.whenAccepted(1);
  });

  it("begins when Telegram comes up after it", async () => {
    const bot = await setUp({
      before: (emulator) =>
        void emulator.fault({ method: "getMe", times: 2 }, { kind: "drop", when: "before" }),
    });
    await untilFailed(bot, 1);
    await clock.advance(1_000);
    await untilFailed(bot, 2);
    await clock.advance(2_000);
    await untilPolled(bot, 1);
    bot.mira.sendText("hello");
    expect(await bot.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "hello" }] }]);
  });
});

describe("close", () => {
  it("breaks off the poll that waits and leaves no connection behind", async () => {
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
    const before = sockets();
    const bot = await setUp();
    await untilPolled(bot, 1);
    await bot.send({ kind: "text", rendered: { text: "hello", marks: [] } });
    expect(sockets()).toBeGreaterThan(before);
    await bot.channel.close();
    await until(() => sockets() === before);
    expect(bot.timers()).toBe(0);
  });

  it("finishes the batch that is being committed", async () => {
    const bot = await setUp();
    const store = gate();
    bot.host.beforeAccept(() => store.opened);
    await untilPolled(bot, 1);
    bot.mira.sendText("one");
    await until(() => bot.host.accepts() === 1);
    const closing = bot.channel.close();
    store.open();
    await closing;
    expect(bot.host.accepted).toHaveLength(1);
    expect((await bot.host.host.state.get(["offset"])).get("offset")).toBe(
      String((bot.emulator.pending()[0]?.update_id ?? 0) + 1),
    );
  });

  it("does not wait for the end of a pause", async () => {
    const bot = await setUp({
      before: (emulator) => void emulator.fault({ method: "getUpdates" }, CONFLICT),
    });
    await untilFailed(bot, 1);
    await bot.channel.close();
    expect(bot.timers()).toBe(0);
  });
});

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let pass!: () => void; // the executor runs before this function returns
  const opened = new Promise<void>((resolve) => (pass = resolve));
  return { opened, open: () => pass() };
}

function idOf(update: { readonly message?: { readonly message_id: number } } | undefined): string {
  return String(update?.message?.message_id);
}

/** With a date that the emulator's clock has not left behind. */
function now<T extends object | undefined>(message: T): NonNullable<T> {
  return { ...message, date: Math.floor(clock.now() / 1000) } as unknown as NonNullable<T>; // every message has a date
}
