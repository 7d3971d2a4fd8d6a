import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import telegram from "../../../channels/telegram/index.ts";
import { testHost } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";
import { startTelegram } from "../../support/telegram/emulator.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { relay } from "./edges.ts";
import { type Bot, type BotOptions, openBot, until } from "./set-up.ts";

const open: Bot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

async function setUp(options: BotOptions = {}): Promise<Bot> {
  const bot = await openBot(options);
  open.push(bot);
  return bot;
}

describe("the settings", () => {
  const TOKEN = "6900000001:AAEmulatedTokenForTests_0123456789abc";

  it("need a token alone", () => {
    expect(telegram.settings.safeParse({ token: TOKEN })).toEqual({
      success: true,
      data: { token: TOKEN, apiRoot: "https://api.telegram.org" },
    });
  });

  it.each([
    [{ token: "hello" }, "is no bot token; Copy it whole from @BotFather"],
    [{ token: TOKEN, apiRoot: "ftp://example.org" }, "Invalid URL"],
    [{ token: TOKEN, parseMode: "HTML" }, "parseMode"],
  ])("refuse %j", (value, words) => {
    const checked = telegram.settings.safeParse(value);
    expect(checked.success ? [] : checked.error.issues.map(({ message }) => message)).toEqual([
      expect.stringContaining(words),
    ]);
  });
});

describe("fetch", () => {
  const get = async (bot: Bot, ref: string, signal = new AbortController().signal): Promise<Buffer> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await bot.channel.fetch(ref, signal)) chunks.push(chunk);
    return Buffer.concat(chunks);
  };

  /** The ref of a document that Mira sent. */
  async function sentBy(bot: Bot, bytes: Uint8Array, declaredBytes?: number): Promise<string> {
    bot.mira.sendDocument(bytes, {
      fileName: "a.bin",
      ...(declaredBytes === undefined ? {} : { declaredBytes }),
    });
    await bot.host.whenAccepted(1);
    const [event] = bot.host.accepted;
    const [part] = event?.type === "message" ? event.content : [];
    if (part?.type !== "unfetched") throw new Error("no file was announced");
    return part.ref;
  }

  /** Awaits a fetch that must fail, and sees to it that the error gives no token away. */
  async function failure(bot: Bot, fetching: Promise<unknown>): Promise<unknown> {
    const error = await fetching.catch((thrown: unknown) => thrown);
    expect(inspect([error, bot.host.logged], { depth: 20, showHidden: true })).not.toContain(
      bot.emulator.token,
    );
    return error;
  }

  it("complaint 39: refuses at once, without asking Telegram, what was declared as larger than 20 MB", async () => {
    const bot = await setUp();
    const ref = await sentBy(bot, Buffer.from("x"), 47_000_000);
    expect(bot.channel.fetchBytes).toBe(20_000_000);
    expect(await failure(bot, get(bot, ref))).toMatchObject({
      code: "media.too_large",
      message: "the file has 45 MB; Telegram hands bots at most 20 MB, so send a smaller one or a link",
    });
    expect(bot.emulator.calls.map(({ method }) => method)).not.toContain("getFile");
  });

  it("hands out the small picture of a video that is too large itself", async () => {
    const bot = await setUp();
    const thumbnail = Buffer.from("a small picture");
    bot.mira.sendVideo(Buffer.from("x"), { declaredBytes: 47_000_000, thumbnail });
    await bot.host.whenAccepted(1);
    const [event] = bot.host.accepted;
    const [part] = event?.type === "message" ? event.content : [];
    expect(await get(bot, (part?.type === "unfetched" && part.thumbnail) || "none")).toEqual(thumbnail);
  });

  it("says the same of a file whose size nobody declared", async () => {
    const bot = await setUp();
    const [fileId = ""] = (await sentBy(bot, Buffer.from("x"), 47_000_000)).split("#");
    expect(await failure(bot, get(bot, fileId))).toMatchObject({ code: "media.too_large" });
  });

  it.each<[string, string, Fault]>([
    ["getFile", "a limit on calls", { kind: "rateLimit", seconds: 3 }],
    ["getFile", "a lost connection", { kind: "drop", when: "before" }],
    ["getFile", "no link", { kind: "refuse", code: 400, description: "Bad Request: wrong file_id" }],
    ["file", "a link that is no more", { kind: "refuse", code: 404, description: "Not Found" }],
    ["file", "a lost connection", { kind: "drop", when: "before" }],
    ["file", "bytes that break off", { kind: "cut" }],
  ])("tells of %s with %s that the file is unavailable", async (method, _what, fault) => {
    const bot = await setUp();
    const ref = await sentBy(bot, Buffer.alloc(100_000));
    bot.emulator.fault({ method }, fault);
    expect(await failure(bot, get(bot, ref))).toMatchObject({ code: "media.unavailable" });
    expect(await get(bot, ref)).toHaveLength(100_000);
  });

  it("asks for a new link each time, because one ends after an hour", async () => {
    const clock = manualClock();
    const bot = await setUp({ clock });
    const ref = await sentBy(bot, Buffer.alloc(100));
    expect(await get(bot, ref)).toHaveLength(100);
    await clock.advance(3_600_000);
    expect(await get(bot, ref)).toHaveLength(100);
  });

  it("reads no more than the beginning of what stands in for a file", async () => {
    const bot = await setUp();
    const ref = await sentBy(bot, Buffer.alloc(100));
    let written = 0;
    const edge = await relay(bot.emulator.apiRoot, ({ url = "" }, response) => {
      if (!url.startsWith("/file/")) return false;
      response.writeHead(404);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536;
      };
      response.on("drain", more);
      more();
      return true;
    });
    const other = await openBot({ emulator: bot.emulator, apiRoot: edge.url });
    expect(await failure(other, get(other, ref))).toMatchObject({ code: "media.unavailable" });
    expect(written).toBeLessThan(50_000_000);
    await other.channel.close();
    await edge.close();
  });

  it("ends with the reason of its signal, before and within the bytes", async () => {
    const bot = await setUp();
    const ref = await sentBy(bot, Buffer.alloc(100_000));
    const reason = new Error("enough");
    expect(await failure(bot, get(bot, ref, AbortSignal.abort(reason)))).toBe(reason);
    bot.emulator.fault({ method: "file" }, { kind: "stall", afterBytes: 10 });
    const stop = new AbortController();
    const fetching = get(bot, ref, stop.signal);
    await bot.emulator.nextCall(({ method }) => method === "file");
    stop.abort(reason);
    expect(await failure(bot, fetching)).toBe(reason);
  });
});

describe("a second connection with a bot's token", () => {
  it("is refused as long as the first one is open, in words without the token", async () => {
    const bot = await setUp();
    const host = await testHost({ id: "club" });
    const settings = { token: bot.emulator.token, apiRoot: bot.emulator.apiRoot };
    const error: unknown = await telegram.open(settings, host.host).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "channel.refused",
      message:
        "the channels “family” and “club” have the token of the same bot, whose messages only one can take in; make another bot with @BotFather and set channels.club.token to its token",
    });
    await bot.channel.close();
    const channel = await telegram.open(settings, host.host);
    bot.mira.sendText("hello");
    await host.whenAccepted(1);
    await channel.close();
    await host.close();
  });

  it("is refused where the token was made anew, and where the first is just being closed", async () => {
    const bot = await setUp();
    let pass: () => void = () => {};
    const slow = new Promise<void>((resolve) => (pass = resolve));
    bot.host.beforeAccept(() => slow);
    bot.mira.sendText("hello");
    await until(() => bot.host.accepts() === 1);
    const closing = bot.channel.close();
    const renewed = bot.emulator.token.replace(/.{5}$/, "other");
    const settings = { token: renewed, apiRoot: `${bot.emulator.apiRoot}/` };
    const again = telegram.open(settings, bot.host.host).catch((thrown: unknown) => thrown);
    expect(await again).toMatchObject({
      message: "the earlier connection of the channel “family” has not ended yet; wait for it",
    });
    pass();
    await closing;
  });

  it("is a bot of its own where the number is another", async () => {
    const [one, other] = [
      await setUp(),
      await setUp({ emulator: await startTelegram({ botId: 6_900_000_002 }) }),
    ];
    one.mira.sendText("to one");
    other.mira.sendText("to the other");
    expect(await one.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "to one" }] }]);
    expect(await other.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "to the other" }] }]);
  });
});

describe("the start link", () => {
  it("waits until Telegram has said what the bot is called", async () => {
    const clock = manualClock();
    const bot = await setUp({
      clock,
      before: (emulator) => void emulator.fault({ method: "getMe" }, { kind: "drop", when: "before" }),
    });
    const link = bot.channel.startLink?.("12345678");
    // The link's own wait, that for the next try, and the watchdog's.
    await until(() => bot.host.logged.length === 1 && bot.timers() === 3);
    await clock.advance(1_000);
    expect(await link).toBe("https://t.me/fern_demo_bot?start=12345678");
  });

  it("is given up after 10 s", async () => {
    const clock = manualClock();
    const bot = await setUp({
      clock,
      before: (emulator) => void emulator.fault({ method: "getMe" }, { kind: "silence", when: "before" }),
    });
    const link = bot.channel.startLink?.("12345678").catch((error: unknown) => error);
    await clock.advance(10_000);
    expect(await link).toMatchObject({ code: "channel.unreachable" });
  });
});
