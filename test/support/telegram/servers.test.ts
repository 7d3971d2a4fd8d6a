import { readFile, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Api, InputFile } from "grammy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../clock.ts";
import { startTelegram, type EmulatorOptions, type TelegramEmulator } from "./emulator.ts";

const MIRA = { id: 700, firstName: "Mira" };
let clock: ManualClock;
let telegram: TelegramEmulator;
let api: Api;

async function open(options: EmulatorOptions = {}): Promise<void> {
  clock = manualClock();
  telegram = await startTelegram({ clock, ...options });
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  telegram.privateChat(MIRA);
}

afterEach(() => telegram.close());

describe("a Bot API server of one's own", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "telegram-local-"));
    await open({ local: { folder } });
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("puts files on its disk and tells where, and has no route to them", async () => {
    const bytes = Buffer.from("notes");
    const { document } = telegram.privateChat(MIRA).sendDocument(bytes, { fileName: "a.txt" });
    const { file_path = "" } = await api.getFile(document?.file_id ?? "");
    expect(isAbsolute(file_path)).toBe(true);
    expect(file_path.startsWith(join(folder, telegram.token))).toBe(true);
    expect(await readFile(file_path)).toEqual(bytes);
    for (const path of [file_path, "documents/file_1.txt"]) {
      expect((await fetch(`${telegram.apiRoot}/file/bot${telegram.token}/${path}`)).status).toBe(404);
    }
  });

  it("knows no limit on what it fetches, and takes more than 50 MB", async () => {
    const size = 300 << 20;
    const { video } = telegram.privateChat(MIRA).sendVideo(Buffer.from("film"), { declaredBytes: size });
    const { file_path = "", file_size } = await api.getFile(video?.file_id ?? "");
    expect(file_size).toBe(size);
    expect((await stat(file_path)).size).toBe(size);
    const large = new InputFile(Buffer.alloc((50 << 20) + 1), "x.bin");
    expect((await api.sendDocument(700, large)).document.file_size).toBe((50 << 20) + 1);
  });

  it("takes a webhook in plain HTTP at any port", async () => {
    await api.setWebhook("http://bot.internal:9000/hook");
    expect((await api.getWebhookInfo()).url).toBe("http://bot.internal:9000/hook");
  });
});

describe("moving a bot", () => {
  beforeEach(() => open());

  it("away by logOut drops what waits and lets it come back after ten minutes", async () => {
    telegram.privateChat(MIRA).sendText("x");
    await api.logOut();
    await expect(api.getMe()).rejects.toMatchObject({ error_code: 429, parameters: { retry_after: 600 } });
    await clock.advance(599_000);
    await expect(api.getMe()).rejects.toMatchObject({ parameters: { retry_after: 1 } });
    await clock.advance(1_000);
    await api.getMe();
    expect(await api.getUpdates()).toEqual([]);
  });

  it("by close is refused in its first ten minutes", async () => {
    await expect(api.close()).rejects.toMatchObject({ error_code: 429, parameters: { retry_after: 600 } });
    await clock.advance(600_000);
    expect(await api.close()).toBe(true);
  });
});

describe("several bots", () => {
  it("are several servers, and none takes another's token", async () => {
    await open();
    const other = await startTelegram({ botId: 6_900_000_002, username: "moss_demo_bot" });
    const api2 = new Api(other.token, { apiRoot: other.apiRoot });
    expect((await api2.getMe()).username).toBe("moss_demo_bot");
    await expect(new Api(telegram.token, { apiRoot: other.apiRoot }).getMe()).rejects.toMatchObject({
      error_code: 401,
      description: "Unauthorized",
    });
    await other.close();
  });
});

describe("a long run", () => {
  it("keeps as much as it is told to, and waiting goes by what comes", async () => {
    await open({ keepLast: 10 });
    const mira = telegram.privateChat(MIRA);
    for (let hour = 0; hour < 12; hour++) {
      for (let i = 0; i < 5; i++) {
        mira.sendDocument(Buffer.alloc(1_000, i));
        const { message_id } = await api.sendMessage(700, `${hour}.${i}`);
        await api.editMessageText(700, message_id, `${hour}.${i}, edited`);
        await api.sendChatAction(700, "typing");
        await api.sendMessageDraft(700, 7, "x");
      }
      const [last] = (await api.getUpdates()).slice(-1);
      await api.getUpdates({ offset: (last?.update_id ?? 0) + 1 });
      await clock.advance(3_600_000);
    }
    expect(telegram.pending()).toEqual([]);
    for (const kept of [
      telegram.sent,
      telegram.edits,
      telegram.calls,
      telegram.drafts,
      telegram.chatActions,
    ]) {
      expect(kept).toHaveLength(10);
    }
    expect(telegram.shown(700)).toHaveLength(10);
    expect(telegram.sent.at(-1)?.text).toBe("11.4");
    expect(telegram.calls.at(-1)?.number).toBe(12 * 22);
    await expect(api.getFile("EMUDOCAgADfile1")).rejects.toThrow("wrong file_id");
    const next = telegram.nextSent();
    await api.sendMessage(700, "and on");
    expect(await next).toMatchObject({ text: "and on" });
    expect(telegram.sent).toHaveLength(10);
  });
});
