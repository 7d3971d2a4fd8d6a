import { Api, GrammyError, HttpError, InputFile } from "grammy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../clock.ts";
import { startTelegram, type TelegramEmulator } from "./emulator.ts";
import { USUAL_LIMITS } from "./flood.ts";
import { png } from "./pictures.ts";
import type { StormPlan } from "./storm.ts";

const GROUP = -1001;
let clock: ManualClock;
let telegram: TelegramEmulator;
let api: Api;

afterEach(() => telegram.close());

async function open(flood = false): Promise<void> {
  clock = manualClock();
  telegram = await startTelegram({ clock, ...(flood && { flood: USUAL_LIMITS }) });
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  for (let id = 700; id < 740; id++) telegram.privateChat({ id, firstName: `P${id}` });
  telegram.supergroup({ id: GROUP, title: "Birds" });
}

/** Seconds to wait, 0 where it went through. */
async function waitOf(call: Promise<unknown>): Promise<number> {
  const outcome = await call.catch((error: unknown) => error);
  if (!(outcome instanceof GrammyError)) return 0;
  expect(outcome.error_code).toBe(429);
  return outcome.parameters.retry_after ?? Number.NaN;
}

describe("the usual limits", () => {
  beforeEach(() => open(true));

  it("let three messages in one chat through at once, then one a second", async () => {
    for (const text of ["1", "2", "3"]) expect(await waitOf(api.sendMessage(700, text))).toBe(0);
    expect(await waitOf(api.sendMessage(700, "4"))).toBe(3);
    expect(await waitOf(api.sendMessage(701, "other chat"))).toBe(0);
    await clock.advance(3_000);
    expect(await waitOf(api.sendMessage(700, "4"))).toBe(0);
    for (const text of ["5", "6", "7", "8"]) {
      await clock.advance(1_000);
      expect(await waitOf(api.sendMessage(700, text))).toBe(0);
    }
    expect(telegram.sentTo(700).map(({ text }) => text)).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"]);
  });

  it("make who does not wait, wait longer, up to 40 s", async () => {
    for (const text of ["1", "2", "3"]) await api.sendMessage(700, text);
    const waits = [];
    for (let i = 0; i < 6; i++) waits.push(await waitOf(api.sendMessage(700, "4")));
    expect(waits).toEqual([3, 6, 12, 24, 40, 40]);
    await clock.advance(39_000);
    expect(await waitOf(api.sendMessage(700, "4"))).toBe(40);
    await clock.advance(40_000);
    for (const text of ["4", "5", "6"]) expect(await waitOf(api.sendMessage(700, text))).toBe(0);
    expect(await waitOf(api.sendMessage(700, "7"))).toBe(3);
  });

  it("count edits and drafts, and an album by its pictures; not actions and deletions", async () => {
    await api.sendMessage(700, "1");
    await api.editMessageText(700, 1, "2");
    await api.sendMessageDraft(700, 7, "3");
    expect(await waitOf(api.editMessageText(700, 1, "4"))).toBe(3);
    expect(await waitOf(api.sendChatAction(700, "typing"))).toBe(0);
    expect(await waitOf(api.deleteMessage(700, 1))).toBe(0);
    const photo = () => ({ type: "photo" as const, media: new InputFile(png(10, 10)) });
    await api.sendMediaGroup(701, [photo(), photo(), photo()]);
    expect(await waitOf(api.sendMessage(701, "x"))).toBe(3);
    await api.sendMediaGroup(702, Array.from({ length: 10 }, photo));
    expect(await waitOf(api.sendMessage(702, "x"))).toBe(3);
  });

  it("let 20 messages a minute into a group", async () => {
    const waits = [];
    for (let second = 0; second < 21; second++) {
      waits.push(await waitOf(api.sendMessage(GROUP, "x")));
      await clock.advance(1_000);
    }
    expect(waits).toEqual([...Array.from({ length: 20 }, () => 0), 40]);
    await clock.advance(60_000);
    for (let i = 0; i < 30; i++) {
      expect(await waitOf(api.sendMessage(GROUP, "x"))).toBe(0);
      await clock.advance(3_000);
    }
  });

  it("let 30 messages a second out in all", async () => {
    const waits = [];
    for (let id = 700; id < 740; id++) waits.push(await waitOf(api.sendMessage(id, "x")));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(30);
  });

  it("take nothing for what is refused otherwise", async () => {
    for (let i = 0; i < 9; i++) await api.sendMessage(700, " ").catch(() => undefined);
    expect(await waitOf(api.sendMessage(700, "x"))).toBe(0);
  });
});

describe("a storm", () => {
  beforeEach(() => open());
  const plan: StormPlan = {
    seed: 4,
    rateLimit: { oneIn: 5, seconds: [1, 40] },
    reset: { oneIn: 20 },
  };

  async function send(chats: readonly number[], each: number): Promise<string[]> {
    const outcomes = await Promise.all(
      chats.map(async (chat) => {
        let line = "";
        for (let i = 0; i < each; i++) {
          const outcome = await api.sendMessage(chat, String(i)).catch((error: unknown) => error);
          line += outcome instanceof HttpError ? "x" : outcome instanceof GrammyError ? "w" : ".";
        }
        return line;
      }),
    );
    return outcomes;
  }

  it("hits calls at about the rates it was given, waits within bounds, and counts them", async () => {
    const storm = telegram.storm(plan);
    const chats = Array.from({ length: 40 }, (_, i) => 700 + i);
    const lines = (await send(chats, 25)).join("");
    const { calls, untouched, rateLimited, resetBefore, resetAfter } = storm.counts();
    expect(calls).toBe(1_000);
    expect(untouched + rateLimited + resetBefore + resetAfter).toBe(1_000);
    expect(lines.match(/w/g)).toHaveLength(rateLimited);
    expect(lines.match(/x/g)).toHaveLength(resetBefore + resetAfter);
    expect(telegram.sent).toHaveLength(untouched + resetAfter);
    expect(rateLimited).toBeGreaterThan(150);
    expect(rateLimited).toBeLessThan(250);
    expect(resetBefore + resetAfter).toBeGreaterThan(20);
    expect(resetBefore + resetAfter).toBeLessThan(65);
    expect(Math.min(resetBefore, resetAfter)).toBeGreaterThan(4);
    expect(telegram.outcomes("sendMessage")).toEqual({
      ok: untouched,
      "429": rateLimited,
      "drop before": resetBefore,
      "drop after": resetAfter,
    });
  });

  it("asks to wait for all lengths that it was given, and no other", async () => {
    telegram.storm({ seed: 1, rateLimit: { oneIn: 1, seconds: [1, 4] } });
    const waits = [];
    for (let i = 0; i < 60; i++) waits.push(await waitOf(api.sendMessage(700, "x")));
    expect(new Set(waits)).toEqual(new Set([1, 2, 3, 4]));
  });

  it("is the same for the same seed, however chats come to lie beside each other", async () => {
    const first = telegram.storm(plan);
    const together = await send([700, 701, 702], 30);
    first.end();
    const second = telegram.storm(plan);
    const apart = [];
    for (const chat of [702, 700, 701]) apart.push(...(await send([chat], 30)));
    second.end();
    expect([apart[1], apart[2], apart[0]]).toEqual(together);
    telegram.storm({ ...plan, seed: 5 });
    expect(await send([700, 701, 702], 30)).not.toEqual(together);
  });

  it("spares polls and what it is told to spare, and is over when it is ended", async () => {
    const always: StormPlan = { seed: 1, reset: { oneIn: 1 } };
    const storm = telegram.storm({ ...always, hits: ({ method }) => method === "sendMessage" });
    await api.getMe();
    expect(await send([700], 1)).toEqual(["x"]);
    storm.end();
    const wide = telegram.storm(always);
    await api.getUpdates();
    await expect(api.getMe()).rejects.toBeInstanceOf(HttpError);
    wide.end();
    expect(await send([700], 1)).toEqual(["."]);
  });
});
