import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import type { MediaBlock } from "../../../src/core/blocks.ts";
import type { MediaForm, MediaItem, PieceBody } from "../../../src/core/channel.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { manualClock } from "../../support/clock.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { jpeg, png } from "../../support/telegram/pictures.ts";
import { type Bot, type BotOptions, MIRA, openBot, text, until } from "./set-up.ts";

const open: Bot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

async function setUp(options: BotOptions = {}): Promise<Bot> {
  const bot = await openBot(options);
  open.push(bot);
  return bot;
}

function media(bot: Bot, bytes: Uint8Array, mimeType: string, more: Partial<MediaBlock> = {}): MediaBlock {
  return { type: "file", mimeType, blob: bot.host.putBlob(bytes), bytes: bytes.length, ...more };
}

function one(
  bot: Bot,
  mimeType: string,
  more: Partial<MediaBlock> = {},
  bytes: Uint8Array = jpeg(4, 3),
): PieceBody {
  return { kind: "media", as: "file", media: media(bot, bytes, mimeType, more) };
}

/** Awaits a send that must fail, and sees to it that the error gives no token away. */
async function failure(bot: Bot, sending: Promise<unknown>): Promise<Error> {
  const error = await sending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error("the send went through");
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(bot.emulator.token.split(":")[1]);
  return error;
}

describe("a text", () => {
  it("goes out with its marks as entities, without a preview, and as a reply where one is named", async () => {
    const bot = await setUp();
    const { message_id } = bot.mira.sendText("hello");
    const marks = [
      { type: "bold", offset: 0, length: 4 },
      { type: "text_link", offset: 5, length: 4, url: "https://example.org/" },
      { type: "pre", offset: 10, length: 5, language: "python" },
    ];
    const ids = await bot.send(
      { kind: "text", rendered: { text: "bold link x = 1", marks } },
      { replyTo: String(message_id) },
    );
    const [sent] = bot.emulator.sent;
    expect([ids, sent?.method, sent?.text, sent?.entities]).toEqual([
      [String(sent?.messageId)],
      "sendMessage",
      "bold link x = 1",
      marks,
    ]);
    expect([sent?.replyParameters, sent?.linkPreview]).toEqual([
      { message_id, allow_sending_without_reply: true },
      { is_disabled: true },
    ]);
  });

  it("is sent although what it answers is gone", async () => {
    const bot = await setUp();
    await bot.send(text("still"), { replyTo: "99" });
    expect(bot.emulator.sent.map(({ text: shown }) => shown)).toEqual(["still"]);
  });

  it("has no marks in its plain form", async () => {
    const bot = await setUp();
    const rendered = { text: "bold", marks: [{ type: "bold", offset: 0, length: 4 }] };
    await bot.send({ kind: "text", rendered }, { form: "plain" });
    expect(bot.emulator.sent.map(({ entities }) => entities)).toEqual([[]]);
  });

  it("goes to the new number of a group that became a supergroup", async () => {
    const bot = await setUp();
    bot.emulator.group({ id: -400_000_001, title: "Crew" });
    bot.emulator.migrate(-400_000_001, -1_002_000_000_009);
    await bot.send(text("hello"), { to: { channel: "family", chat: "-400000001" } });
    expect(bot.emulator.sent.map(({ chatId }) => chatId)).toEqual([-1_002_000_000_009]);
  });

  it("tells of the new number of a group, and is sent although that cannot be stored", async () => {
    const bot = await setUp();
    bot.emulator.group({ id: -400_000_001, title: "Crew" });
    bot.emulator.migrate(-400_000_001, -1_002_000_000_009);
    await bot.host.whenAccepted(1); // Telegram tells of it by itself
    const to = { channel: "family", chat: "-400000001" };
    const asked: unknown[] = [];
    bot.host.beforeAccept((event) => void asked.push(event));
    await bot.send(text("hello"), { to });
    const moved = { type: "chatMoved", id: "moved/-400000001/-1002000000009" };
    expect(asked).toEqual([{ ...moved, from: "-400000001", to: "-1002000000009" }]);
    bot.host.refuse(new GatewayError("store.unavailable", "the disk is full"));
    await bot.send(text("again"), { to });
    await until(() => bot.host.logged.length === 1);
    expect(bot.emulator.sent).toHaveLength(2);
  });
});

describe("a topic", () => {
  const FORUM = -1_002_000_000_002;

  it("is named in a text, a file and a sign of life", async () => {
    const bot = await setUp();
    const topic = bot.emulator
      .supergroup({ id: FORUM, title: "Boatyard", forum: true })
      .topic("Rigging", MIRA);
    const to = { channel: "family", chat: String(FORUM), topic: String(topic) };
    await bot.channel.progress?.(to, { kind: "typing" });
    await bot.send(text("hello"), { to });
    await bot.send(one(bot, "application/pdf"), { to });
    expect(bot.emulator.sent.map(({ threadId }) => threadId)).toEqual([topic, topic]);
    expect(bot.emulator.chatActions.map(({ threadId, action }) => [threadId, action])).toEqual([
      [topic, "typing"],
    ]);
  });

  it("is not named in a send to General, but in a sign of life there", async () => {
    const bot = await setUp();
    bot.emulator.supergroup({ id: FORUM, title: "Boatyard", forum: true });
    const to = { channel: "family", chat: String(FORUM), topic: "1" };
    await bot.send(text("hello"), { to });
    await bot.channel.progress?.(to, { kind: "typing" });
    expect(bot.emulator.sent.map(({ threadId }) => threadId)).toEqual([undefined]);
    expect(bot.emulator.chatActions.map(({ threadId }) => threadId)).toEqual([1]);
  });

  it("of a channel's direct messages goes by its own parameter", async () => {
    const bot = await setUp();
    await bot.send(text("hello"), { to: { channel: "family", chat: String(MIRA.id), topic: "direct:55" } });
    const { parameters } = bot.emulator.calls.find(({ method }) => method === "sendMessage") ?? {};
    expect([parameters?.["direct_messages_topic_id"], parameters?.["message_thread_id"]]).toEqual([
      55,
      undefined,
    ]);
  });
});

describe("a file", () => {
  it.each<[MediaForm, string]>([
    ["image", "sendPhoto"],
    ["animation", "sendAnimation"],
    ["video", "sendVideo"],
    ["voice", "sendVoice"],
    ["audio", "sendAudio"],
    ["file", "sendDocument"],
  ])("that is to appear as %s goes by %s", async (as, method) => {
    const bot = await setUp();
    await bot.send({ kind: "media", as, media: media(bot, jpeg(4, 3), "image/jpeg") });
    expect(bot.emulator.sent.map((sent) => sent.method)).toEqual([method]);
  });

  it("carries its caption with entities, its length and its sides", async () => {
    const bot = await setUp();
    const caption = { text: "a bird", marks: [{ type: "italic", offset: 2, length: 4 }] };
    const block = media(bot, jpeg(4, 3), "video/mp4", { width: 640, height: 480, durationSeconds: 7.4 });
    await bot.send({ kind: "media", as: "video", media: block, caption });
    expect(bot.emulator.sent[0]?.message).toMatchObject({
      caption: "a bird",
      caption_entities: caption.marks,
      video: { width: 640, height: 480, duration: 7 },
    });
  });

  it("is a document in that form, without marks in both forms", async () => {
    const bot = await setUp();
    const caption = { text: "a bird", marks: [{ type: "italic", offset: 2, length: 4 }] };
    const body: PieceBody = {
      kind: "media",
      as: "image",
      media: media(bot, jpeg(4, 3), "image/jpeg"),
      caption,
    };
    await bot.send(body, { form: "document" });
    await bot.send(body, { form: "document, plain" });
    expect(bot.emulator.sent.map(({ method, entities }) => [method, entities])).toEqual([
      ["sendDocument", caption.marks],
      ["sendDocument", []],
    ]);
  });

  it.each([
    ["tide table.pdf", "tide table.pdf"],
    ["Grüße aus 東京 🦊.pdf", "Grüße aus 東京 🦊.pdf"],
    ['a;b"c%41.pdf', "a_b_c_41.pdf"],
    ["../../etc/passwd", "passwd"],
    ["..\\evil.exe", "evil.exe"],
    ["a\r\nX-Header: 1.pdf", "aX-Header: 1.pdf"],
    ["..", "file"],
    [undefined, "file"],
  ])("called %j arrives as %j", async (filename, name) => {
    const bot = await setUp();
    await bot.send(one(bot, "application/pdf", filename === undefined ? {} : { filename }));
    expect(bot.emulator.sent.map((sent) => sent.media?.fileName)).toEqual([name]);
  });

  it("that is no longer in the store is refused, and nothing is shown", async () => {
    const bot = await setUp();
    const block = { ...media(bot, jpeg(4, 3), "image/jpeg"), blob: `sha256:${"0".repeat(64)}` as const };
    expect(await failure(bot, bot.send({ kind: "media", as: "image", media: block }))).toMatchObject({
      code: "send.refused",
    });
    expect(bot.emulator.sent).toEqual([]);
  });
});

describe("an album", () => {
  const items = (bot: Bot, ...forms: readonly MediaForm[]): readonly MediaItem[] =>
    forms.map((as, n) => ({ as, media: media(bot, png(4, 3 + n), "image/png", { filename: `${n}` }) }));

  it.each<[MediaForm[], string | undefined, string[]]>([
    [["image", "video"], undefined, ["photo", "video"]],
    [["file", "file"], undefined, ["document", "document"]],
    [["audio", "audio"], undefined, ["audio", "audio"]],
    [["image", "video"], "document", ["document", "document"]],
  ])("of %j in the form %s is one call of %j", async (forms, form, kinds) => {
    const bot = await setUp();
    const body: PieceBody = { kind: "album", items: items(bot, ...forms) };
    const ids = await bot.send(body, form === undefined ? {} : { form });
    expect(bot.emulator.sent.map((sent) => sent.media?.kind)).toEqual(kinds);
    expect(ids).toEqual(bot.emulator.sent.map(({ messageId }) => String(messageId)));
    expect(new Set(bot.emulator.sent.map(({ mediaGroupId }) => mediaGroupId)).size).toBe(1);
  });

  it("keeps each caption with its item", async () => {
    const bot = await setUp();
    const [first, second] = items(bot, "image", "image");
    const caption = { text: "the second", marks: [{ type: "bold", offset: 4, length: 6 }] };
    await bot.send({ kind: "album", items: [first!, { ...second!, caption }] }); // two types, two items
    expect(bot.emulator.sent.map((sent) => [sent.caption, sent.entities])).toEqual([
      [undefined, []],
      ["the second", caption.marks],
    ]);
  });
});

const refuse = (code: number, description: string): Fault => ({ kind: "refuse", code, description });
const bad = (what: string): Fault => refuse(400, `Bad Request: ${what}`);
const ENTITY = 'can\'t parse entities: Unsupported start tag "secret" at byte offset 4';

describe("what Telegram says no to", () => {
  it.each<[Fault, string, Partial<GatewayError>]>([
    [{ kind: "rateLimit", seconds: 35 }, "send.rate_limited", { retryAfterMs: 35_000 }],
    [refuse(403, "Forbidden: bot was blocked by the user"), "send.chat_closed", {}],
    [refuse(403, "Forbidden: user is deactivated"), "send.chat_closed", {}],
    [refuse(403, "Forbidden: bot was kicked from the group chat"), "send.chat_closed", {}],
    [refuse(403, "Forbidden: bot is not a member of the supergroup chat"), "send.chat_closed", {}],
    [refuse(403, "Forbidden: the group chat was deleted"), "send.chat_closed", {}],
    [refuse(403, "Forbidden: bot can't initiate conversation with a user"), "send.chat_closed", {}],
    [bad("chat not found"), "send.chat_closed", {}],
    [bad(ENTITY), "send.refused", { stepDown: "plain" }],
    [bad("entity URL 'http://secret.example' is invalid"), "send.refused", { stepDown: "plain" }],
    [bad("ENTITIES_TOO_LONG"), "send.refused", { stepDown: "plain" }],
    [bad("PHOTO_INVALID_DIMENSIONS"), "send.refused", { stepDown: "document" }],
    [bad("IMAGE_PROCESS_FAILED"), "send.refused", { stepDown: "document" }],
    [bad("VOICE_MESSAGES_FORBIDDEN"), "send.refused", { stepDown: "document" }],
    [bad("can't use the media of the specified type in the album"), "send.refused", { stepDown: "document" }],
    [bad("VIDEO_CONTENT_TYPE_INVALID"), "send.refused", { stepDown: "document" }],
    [bad("MEDIA_INVALID"), "send.refused", { stepDown: "document" }],
    [bad("message caption is too long"), "send.refused", {}],
    [bad("message is too long"), "send.refused", { stepDown: undefined as never }],
    [bad("message thread not found"), "send.refused", { stepDown: undefined as never }],
    [bad("TOPIC_CLOSED"), "send.refused", { stepDown: undefined as never }],
    [bad("not enough rights to send text messages to the chat"), "send.chat_closed", {}],
    [bad("have no rights to send a message"), "send.chat_closed", {}],
    [bad("need administrator rights in the channel chat"), "send.chat_closed", {}],
    [bad("business connection not found"), "send.chat_closed", {}],
    [bad("not enough rights to send photos to the chat"), "send.refused", { stepDown: "document" }],
    [bad("message to be replied not found"), "send.refused", { stepDown: "alone" }],
    [bad("QUOTE_TEXT_INVALID"), "send.refused", { stepDown: "alone" }],
    [bad("BUTTON_DATA_INVALID"), "send.refused", { stepDown: "bare" }],
    [bad("reply markup is too long"), "send.refused", { stepDown: "bare" }],
    [bad("BUTTON_URL_INVALID"), "send.refused", { stepDown: "bare" }],
    [refuse(401, "Unauthorized"), "send.not_written", {}],
    [refuse(404, "Not Found"), "send.not_written", {}],
    [{ kind: "html", status: 413, when: "before" }, "send.refused", { stepDown: undefined as never }],
  ])("%j is %s %j", async (fault, code, more) => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessage" }, fault);
    const error = await failure(bot, bot.send(text("hello")));
    expect(error).toMatchObject({ code, ...more });
    expect(error.message).not.toContain("secret");
    expect(bot.emulator.sent).toEqual([]);
  });

  it("names no form twice", async () => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessage", times: 4 }, bad(ENTITY));
    const forms = ["", "plain", "document", "document, plain"].map(async (form) => {
      const error = await failure(bot, bot.send(text("hello"), form === "" ? {} : { form }));
      return error instanceof GatewayError ? error.stepDown : "no step";
    });
    expect(await Promise.all(forms)).toEqual(["plain", undefined, "document, plain", undefined]);
  });

  it("is not closed again by a chat that is open", async () => {
    const bot = await setUp();
    bot.mira.block();
    expect(await failure(bot, bot.send(text("hello")))).toMatchObject({ code: "send.chat_closed" });
    bot.mira.unblock();
    await bot.send(text("hello"));
    expect(bot.emulator.sent).toHaveLength(1);
  });
});

describe("what was never written", () => {
  it.each([
    ["a port where nobody listens", "http://127.0.0.1:1"],
    ["a name that there is not", "http://telegram.invalid"],
    ["an edge that speaks no TLS", "tls"],
  ])("is told of %s", async (_what, root) => {
    const bot = await setUp();
    const apiRoot = root === "tls" ? bot.emulator.apiRoot.replace("http:", "https:") : root;
    const other = await setUp({ emulator: bot.emulator, apiRoot });
    const caught = [text("hello"), one(other, "image/png", {}, png(4, 3))].map((body) =>
      failure(other, other.send(body)),
    );
    expect(
      (await Promise.all(caught)).map((error) => (error instanceof GatewayError ? error.code : "")),
    ).toEqual(["send.not_written", "send.not_written"]);
  });
});

describe("what may or may not have been done", () => {
  it.each<[string, Fault, number]>([
    ["a connection that broke before", { kind: "drop", when: "before" }, 0],
    ["a connection that broke after", { kind: "drop", when: "after" }, 1],
    ["half of an answer", { kind: "truncate" }, 1],
    ["an answer that breaks off", { kind: "cut" }, 1],
    ["an edge in trouble", { kind: "html", status: 502, when: "after" }, 1],
    ["a restart", refuse(500, "Internal Server Error: restart"), 0],
  ])("is told by no send code after %s", async (_what, fault, shown) => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessage" }, fault);
    expect(await failure(bot, bot.send(text("hello")))).not.toBeInstanceOf(GatewayError);
    expect(bot.emulator.sent).toHaveLength(shown);
  });

  it("is told when the caller cuts off a send that is never answered", async () => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessage" }, { kind: "silence", when: "after" });
    const cut = new AbortController();
    const piece = { id: 1, to: { channel: "family", chat: String(MIRA.id) }, body: text("hello") };
    const sending = bot.channel.send(piece, { number: 1 }, cut.signal);
    await bot.emulator.untilSent(MIRA.id, 1);
    cut.abort(new Error("120 s"));
    expect(await failure(bot, sending)).not.toBeInstanceOf(GatewayError);
  });

  it("is sent by nobody a second time", async () => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessage" }, { kind: "drop", when: "after" });
    await failure(bot, bot.send(text("hello")));
    expect(bot.emulator.calls.filter(({ method }) => method === "sendMessage")).toHaveLength(1);
  });
});

describe("a sign of life", () => {
  const typing = (bot: Bot): Promise<void> | undefined =>
    bot.channel.progress?.({ channel: "family", chat: String(MIRA.id) }, { kind: "typing" });

  it.each<Fault>([
    { kind: "rateLimit", seconds: 9 },
    { kind: "drop", when: "before" },
    refuse(403, "Forbidden: bot was blocked by the user"),
  ])("is no trouble to anybody when it meets %j", async (fault) => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendChatAction" }, fault);
    await expect(typing(bot)).resolves.toBeUndefined();
    expect(bot.host.logged).toEqual([]);
  });

  it("is given up after 10 s without an answer", async () => {
    const clock = manualClock();
    const bot = await setUp({ clock });
    bot.emulator.fault({ method: "sendChatAction" }, { kind: "silence", when: "before" });
    const shown = typing(bot);
    await until(() => bot.emulator.calls.some(({ method }) => method === "sendChatAction"));
    await clock.advance(10_000);
    await expect(shown).resolves.toBeUndefined();
  });
});
