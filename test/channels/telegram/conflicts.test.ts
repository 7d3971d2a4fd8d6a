import { afterEach, describe, expect, it } from "vitest";
import { rememberWebhook } from "../../../channels/telegram/own-webhook.ts";
import { memoryState } from "../../support/channel-host.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import {
  type Receiving,
  type ReceivingOptions,
  startReceiving,
  untilFailed,
  untilPolled,
} from "./receiving.ts";
import { until } from "./set-up.ts";

const CONFLICT: Fault = {
  kind: "refuse",
  code: 409,
  description:
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
};

const open: Receiving[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function setUp(options: ReceivingOptions = {}): Promise<Receiving> {
  const at = await startReceiving(options);
  open.push(at);
  return at;
}

/** Lets time pass, half a second after the other, until a further poll was asked. */
async function untilNextPoll(at: Receiving): Promise<void> {
  const before = at.calls("getUpdates").length;
  while (at.calls("getUpdates").length === before) await at.clock.advance(500);
}

describe("another program that polls", () => {
  it("is left alone for 5 to 60 s with up to a quarter more, and told of once when it stays", async () => {
    const at = await setUp({
      before: (emulator) => void emulator.fault({ method: "getUpdates", times: 7 }, CONFLICT),
    });
    for (let count = 1; count <= 7; count += 1) {
      await untilFailed(at, count);
      expect(at.host.failures).toHaveLength(count < 5 ? 0 : 1);
      await untilNextPoll(at);
    }
    const times = at.calls("getUpdates").map((call) => call.at);
    const strange = [5, 10, 20, 40, 60, 60, 60].flatMap((seconds, n) => {
      const waited = ((times[n + 1] ?? 0) - (times[n] ?? 0)) / 1000;
      // The clock's steps are half a second long.
      return waited > seconds - 0.5 && waited < seconds * 1.25 + 1 ? [] : [waited];
    });
    expect(strange).toEqual([]);
    expect(at.host.failures).toMatchObject([
      {
        code: "channel.refused",
        message:
          "another program reads this bot's messages with the same token; stop it, or have @BotFather make a new token and set it here",
      },
    ]);
  });

  it("that ends is followed with a line in the log", async () => {
    const at = await setUp({
      before: (emulator) => void emulator.fault({ method: "getUpdates", times: 2 }, CONFLICT),
    });
    for (const count of [1, 2]) {
      await untilFailed(at, count);
      await untilNextPoll(at);
    }
    at.mira.sendText("hello");
    await at.host.whenAccepted(1);
    expect(at.host.failures).toEqual([]);
    expect(at.host.logged.map(({ level, sentence }) => [level, sentence])).toEqual([
      ["warn", "receiving from Telegram failed; tried again after a wait"],
      ["debug", "receiving from Telegram failed; tried again after a wait"],
      ["info", "receiving from Telegram works again"],
    ]);
  });

  it("complaint 69: that ends after 35 s leaves this one polling alone, without a restart, with all that waited", async () => {
    const conflicts = 3; // 5, 10 and 20 s after one another
    const at = await setUp({
      before: (emulator) => void emulator.fault({ method: "getUpdates", times: conflicts }, CONFLICT),
    });
    at.mira.sendText("waits meanwhile");
    for (let count = 1; count <= conflicts; count += 1) {
      await untilFailed(at, count);
      await untilNextPoll(at);
    }
    expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "waits meanwhile" }] }]);
    const [first, last] = [at.calls("getUpdates")[0], at.calls("getUpdates")[conflicts]];
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(35_000);
    for (let n = 2; n <= 5; n += 1) {
      at.mira.sendText(`message ${n}`);
      await at.host.whenAccepted(n);
    }
    // Telegram ends the earlier of two polls with a conflict, and would have told of more of them.
    expect(at.emulator.outcomes("getUpdates")["409"]).toBe(conflicts);
    expect(at.host.failures).toEqual([]);
  });

  it("loses nothing of what both are handed", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    const other = fetch(`${at.emulator.apiRoot}/bot${at.emulator.token}/getUpdates?timeout=30`);
    await untilFailed(at, 1);
    at.mira.sendText("for whom?");
    expect(await (await other).json()).toMatchObject({ result: [{ message: { text: "for whom?" } }] });
    await untilNextPoll(at);
    expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "for whom?" }] }]);
  });
});

describe("a webhook that is set while Perch polls", () => {
  const HOOK = "https://hooks.example.org/a-secret-path";

  async function call(at: Receiving, method: string): Promise<void> {
    await fetch(`${at.emulator.apiRoot}/bot${at.emulator.token}/${method}`);
  }

  it("is told by its host alone, with what to do, and looked for again every minute", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    await call(at, `setWebhook?url=${encodeURIComponent(HOOK)}`);
    await until(() => at.host.failures.length === 1 && at.timers() === 2);
    await at.clock.advance(60_000);
    await untilPolled(at, 2);
    await call(at, "deleteWebhook");
    await at.clock.advance(60_000);
    await untilPolled(at, 3);
    at.mira.sendText("hello");
    await at.host.whenAccepted(1);
    expect(at.host.failures).toMatchObject([
      {
        code: "channel.refused",
        message:
          "a webhook at hooks.example.org is set for this bot, and Telegram hands messages to it alone; stop the program that set it and remove it with the Bot API's deleteWebhook, or have @BotFather make a new token",
      },
    ]);
    expect(at.host.recoveries).toEqual([1]);
    expect(at.calls("deleteWebhook")).toHaveLength(1);
  });

  it("is taken away where this connection has set it, and what waits is kept", async () => {
    const state = memoryState();
    await rememberWebhook(state, HOOK);
    const first = await setUp({ state });
    await first.stop();
    await call(first, `setWebhook?url=${encodeURIComponent(HOOK)}`);
    first.mira.sendText("waits since then");
    const at = await setUp({ emulator: first.emulator, clock: first.clock, state });
    expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "waits since then" }] }]);
    expect(at.calls("deleteWebhook").map(({ parameters }) => parameters)).toEqual([{}]);
    expect(at.host.failures).toEqual([]);
    // It is no more ours: should somebody set it again, it stays.
    expect((await state.get(["webhook"])).size).toBe(0);
  });

  it("and gone again before it was looked at counts as any conflict", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    const terminated = { ...CONFLICT, description: "Conflict: terminated by setWebhook request" };
    at.emulator.fault({ method: "getUpdates" }, terminated);
    await at.clock.advance(30_000);
    await untilFailed(at, 1);
    await at.clock.advance(6_250);
    await untilPolled(at, 3);
    expect(at.host.failures).toEqual([]);
  });
});
