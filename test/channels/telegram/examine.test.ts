import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import telegram from "../../../channels/telegram/index.ts";
import { type TelegramSettings, settings } from "../../../channels/telegram/settings.ts";
import type { Examination, Finding } from "../../../src/core/channel.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { manualClock } from "../../support/clock.ts";
import {
  type EmulatorOptions,
  startTelegram,
  type TelegramEmulator,
} from "../../support/telegram/emulator.ts";
import { relay } from "./edges.ts";
import { until } from "./set-up.ts";

const GROUP = -1_002_000_000_001;
const OWNER = { id: 700_100_001, firstName: "Mira" };

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function setUp(options: EmulatorOptions = {}): Promise<TelegramEmulator> {
  const emulator = await startTelegram(options);
  cleanups.push(() => emulator.close());
  return emulator;
}

type By = Partial<Omit<Examination, "chats">> & {
  readonly own?: Partial<TelegramSettings>;
  /** Chats and when they are answered. */
  readonly chats?: Readonly<Record<string, "addressed" | "all" | "none">>;
};

async function examined(emulator: TelegramEmulator, by: By = {}): Promise<readonly Finding[]> {
  const { own, chats = {}, ...rest } = by;
  const given = settings.parse({ token: emulator.token, apiRoot: emulator.apiRoot, ...own });
  const examination = {
    clock: systemClock,
    origin: "http://127.0.0.1:7373",
    chats: Object.entries(chats).map(([chat, when]) => ({ chat, when })),
    ...rest,
  };
  return (await telegram.examine?.(given, examination)) ?? [];
}

async function faults(emulator: TelegramEmulator, by: By = {}): Promise<readonly Finding[]> {
  return (await examined(emulator, by)).filter(({ kind }) => kind === "fault");
}

describe("a bot that can work", () => {
  it("is told by its name and what it sees, and nothing of it is changed", async () => {
    const emulator = await setUp({ privacy: "on" });
    emulator.privateChat(OWNER).sendText("hello");
    emulator.supergroup({ id: GROUP, title: "Birds" });
    expect(await examined(emulator, { chats: { [GROUP]: "addressed", [OWNER.id]: "all" } })).toEqual([
      {
        kind: "fact",
        text: "it is Fernbot (@fern_demo_bot); in groups it sees what is meant for it, unless it is an administrator",
      },
      { kind: "fact", text: "messages that wait at Telegram: 1" },
    ]);
    expect(emulator.pending()).toHaveLength(1);
    const asked = new Set(emulator.calls.map(({ method }) => method));
    expect(asked).toEqual(new Set(["getMe", "getWebhookInfo", "getChat", "getChatMember"]));
  });

  it("is told without what a name could do to a terminal", async () => {
    const emulator = await setUp({ me: { first_name: "Fern\u001b[31m\n\u202ebot" } });
    expect((await examined(emulator))[0]?.text).toMatch(/^it is Fern 31m bot \(@fern_demo_bot\)/);
  });
});

describe("a bot that cannot work", () => {
  it.each([
    [
      401,
      "Telegram does not accept the token (401)",
      "set token to what @BotFather shows under /mybots, and apiRoot to a Bot API if it is set",
    ],
    [
      429,
      "it could not be asked: Telegram answered 429: Unauthorized",
      "see that this machine reaches Telegram; where it does not by itself, set proxy",
    ],
  ])("is told where Telegram answers %i", async (code, text, remedy) => {
    const emulator = await setUp();
    emulator.fault({ method: "getMe" }, { kind: "refuse", code, description: "Unauthorized" });
    expect(await examined(emulator)).toEqual([{ kind: "fault", text, remedy }]);
  });

  it("is told where nobody answers, after 10 s", async () => {
    const clock = manualClock();
    const emulator = await setUp({ clock });
    emulator.fault({ method: "getMe" }, { kind: "silence", when: "before" });
    const examining = examined(emulator, { clock });
    await until(() => emulator.calls.length === 1);
    await clock.advance(10_000);
    expect(await examining).toMatchObject([
      { kind: "fault", text: expect.stringContaining("it was cut off") },
    ]);
  });

  it("is told what was found before the connection broke", async () => {
    const emulator = await setUp();
    emulator.fault({ method: "getWebhookInfo" }, { kind: "drop", when: "before" });
    expect((await examined(emulator)).map(({ kind }) => kind)).toEqual(["fact", "fault"]);
  });
});

describe("a webhook", () => {
  async function withHook(url: string, own: Partial<TelegramSettings>): Promise<readonly Finding[]> {
    const emulator = await setUp();
    const set = `${emulator.apiRoot}/bot${emulator.token}/setWebhook?url=${encodeURIComponent(url)}`;
    if (url !== "") await fetch(set);
    return (await examined(emulator, { own })).slice(1);
  }

  it("that is set while Perch polls is a fault, told by its host alone", async () => {
    expect(await withHook("https://hooks.example.org/secret", {})).toEqual([
      {
        kind: "fault",
        text: "a webhook at hooks.example.org is set, and Telegram hands messages to it alone",
        remedy:
          "stop the program that set it and call the Bot API's deleteWebhook, or have @BotFather make a new token; a webhook that Perch has set itself goes when it starts",
      },
    ]);
  });

  const webhook = "https://bot.example.org/perch/";
  it("of our own is no fault, set or not yet set", async () => {
    expect(await withHook("https://bot.example.org/perch/telegram/family", { webhook })).toEqual([]);
    expect(await withHook("", { webhook })).toEqual([
      { kind: "fact", text: "no webhook is set yet; Perch sets it when it starts" },
    ]);
  });

  it("that leads elsewhere is a fault", async () => {
    expect(await withHook("https://hooks.example.org/secret", { webhook })).toMatchObject([
      { kind: "fault", text: "the webhook that is set leads to hooks.example.org, not to bot.example.org" },
    ]);
  });

  it("that Telegram cannot call is a fault, with where it has to lead", async () => {
    const emulator = await setUp();
    const nobody = "http://127.0.0.1:9";
    await fetch(`${emulator.apiRoot}/bot${emulator.token}/setWebhook?url=${nobody}/telegram/family`);
    emulator.privateChat(OWNER).sendText("hello");
    const found = async (): Promise<readonly Finding[]> =>
      await faults(emulator, { own: { webhook: nobody } });
    await expect.poll(found).toMatchObject([
      {
        text: expect.stringMatching(/^Telegram cannot hand messages over at 127\.0\.0\.1:9: ./),
        remedy: "see that Perch runs and that 127.0.0.1:9 passes /telegram/ on to http://127.0.0.1:7373",
      },
    ]);
  });

  it.each(["http://bot.example.org", "https://bot.example.org:7373"])(
    "at %s is none that Telegram's own servers call",
    async (address) => {
      const emulator = await setUp();
      const own = { webhook: address, apiRoot: "https://api.telegram.org", proxy: emulator.apiRoot };
      expect(await faults(emulator, { own })).toMatchObject([
        { remedy: "set webhook to an address that begins with https and has port 443, 80, 88 or 8443" },
        { text: expect.stringContaining("it could not be asked") },
      ]);
    },
  );
});

describe("a chat that has rules", () => {
  it("of which all messages are needed is a fault while privacy mode hides them, and with an administrator no more", async () => {
    const emulator = await setUp({ privacy: "on" });
    const group = emulator.supergroup({ id: GROUP, title: "Birds" });
    expect(await faults(emulator, { chats: { [GROUP]: "all" } })).toEqual([
      {
        kind: "fault",
        text: `in chat ${GROUP} it needs all messages, and Telegram shows it only what is meant for it (privacy mode)`,
        remedy:
          "send /setprivacy to @BotFather and choose Disable, then remove the bot from the chat and add it again; or make it an administrator there",
      },
    ]);
    expect(await faults(emulator, { chats: { [GROUP]: "addressed" } })).toEqual([]);
    group.promoteBot(OWNER);
    expect(await faults(emulator, { chats: { [GROUP]: "all" } })).toEqual([]);
    group.demoteBot(OWNER);
    emulator.setPrivacy("off");
    expect(await faults(emulator, { chats: { [GROUP]: "all" } })).toEqual([]);
  });

  it("where the bot is not, or may not write, is a fault", async () => {
    const emulator = await setUp();
    const group = emulator.supergroup({ id: GROUP, title: "Birds" });
    const chats = { [GROUP]: "addressed" } as const;
    group.demoteBot(OWNER, []);
    expect(await faults(emulator, { chats })).toMatchObject([
      { text: `in chat ${GROUP} it may not send messages`, remedy: expect.stringContaining("permissions") },
    ]);
    group.demoteBot(OWNER, ["can_send_messages", "can_send_videos", "can_send_audios"]);
    expect(await faults(emulator, { chats })).toMatchObject([
      { text: `in chat ${GROUP} it may not send photos, voice notes, files` },
    ]);
    group.removeBot(OWNER);
    expect((await faults(emulator, { chats })).length).toBe(1);
  });

  it("is a fault where it is a channel that the bot may not post in", async () => {
    const emulator = await setUp();
    emulator.channel({ id: GROUP, title: "Tides" });
    const chats = { [GROUP]: "all" } as const;
    expect(await faults(emulator, { chats })).toEqual([]);
    const answer = { status: "administrator", can_post_messages: false };
    const edge = await relay(emulator.apiRoot, ({ url = "" }, response) => {
      if (!url.endsWith("/getChatMember")) return false;
      response.end(JSON.stringify({ ok: true, result: answer }));
      return true;
    });
    cleanups.push(() => edge.close());
    expect(await faults(emulator, { chats, own: { apiRoot: edge.url } })).toMatchObject([
      { text: `in chat ${GROUP} it may not send messages` },
    ]);
  });

  it("that Telegram does not know is a fault, with what to do for people and for groups", async () => {
    const emulator = await setUp();
    const chats = { "-1009": "addressed", "42": "all", "business:bc_1:42": "all" } as const;
    expect(await faults(emulator, { chats })).toEqual([
      {
        kind: "fault",
        text: "Telegram says of chat 42: chat not found (400)",
        remedy: "see that the id is right, and have the person press Start in the chat with the bot",
      },
      {
        kind: "fault",
        text: "Telegram says of chat -1009: chat not found (400)",
        remedy: "see that the id is right, and add the bot to the chat",
      },
    ]);
  });

  it("that has got another id is a fault with the new one", async () => {
    const emulator = await setUp();
    emulator.group({ id: -5001, title: "Birds" });
    emulator.migrate(-5001, GROUP);
    expect(await faults(emulator, { chats: { "-5001": "addressed" } })).toEqual([
      {
        kind: "fault",
        text: `chat -5001 has become the supergroup ${GROUP}`,
        remedy: `write "${GROUP}" in its place under chats`,
      },
    ]);
  });
});

it("tells of a serverFolder that cannot be read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bot-api-"));
  cleanups.push(() => rm(folder, { recursive: true }));
  const emulator = await setUp({ local: { folder } });
  expect(await faults(emulator, { own: { serverFolder: folder } })).toEqual([]);
  const own = { serverFolder: join(folder, "gone") };
  expect(await faults(emulator, { own })).toMatchObject([
    { text: `serverFolder (${folder}/gone) cannot be read`, remedy: expect.stringContaining("--dir") },
  ]);
});
