import { Api, GrammyError, HttpError, InputFile } from "grammy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegram, type TelegramEmulator } from "./emulator.ts";
import { jpeg, png } from "./pictures.ts";

const MIRA = { id: 700, firstName: "Mira" };
let telegram: TelegramEmulator;
let api: Api;

beforeEach(async () => {
  telegram = await startTelegram();
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  telegram.privateChat(MIRA);
});
afterEach(() => telegram.close());

describe("sending text", () => {
  it("answers with the text as kept, and logs it", async () => {
    const message = await api.sendMessage(700, "  héllo\t😀 ", {
      entities: [{ type: "bold", offset: 2, length: 5 }],
      disable_notification: true,
      link_preview_options: { is_disabled: true },
    });
    expect(message).toMatchObject({ message_id: 1, text: "héllo 😀", chat: { id: 700, first_name: "Mira" } });
    expect(telegram.sent).toMatchObject([
      {
        method: "sendMessage",
        chatId: 700,
        messageId: 1,
        text: "héllo 😀",
        entities: [{ type: "bold", offset: 0, length: 5 }],
        silent: true,
        linkPreview: { is_disabled: true },
        threadId: undefined,
      },
    ]);
  });

  it.each([
    ["a chat that the bot never met", 701, {}, 400, "Bad Request: chat not found"],
    ["parse_mode", 700, { parse_mode: "HTML" }, 400, "Bad Request: emulator: parse_mode unsupported"],
    ["a topic that is none", 700, { message_thread_id: 9 }, 400, "Bad Request: message thread not found"],
    [
      "66 bytes behind a button",
      700,
      { reply_markup: buttonOf("ü".repeat(33)) },
      400,
      "Bad Request: BUTTON_DATA_INVALID",
    ],
    [
      "a reply to nothing",
      700,
      { reply_parameters: { message_id: 9 } },
      400,
      "Bad Request: message to be replied not found",
    ],
  ] as const)("refuses %s", async (_what, chat, extra, code, description) => {
    await expect(api.sendMessage(chat, "hi", extra)).rejects.toMatchObject({ error_code: code, description });
    expect(telegram.sent).toEqual([]);
  });

  it("sends without the reply where that is allowed, and quotes one level of it where it is there", async () => {
    const lost = { message_id: 99, allow_sending_without_reply: true };
    expect((await api.sendMessage(700, "one", { reply_parameters: lost })).reply_to_message).toBeUndefined();
    const two = await api.sendMessage(700, "two", { reply_parameters: { message_id: 1 } });
    const three = await api.sendMessage(700, "three", { reply_parameters: { message_id: two.message_id } });
    expect(three.reply_to_message).toMatchObject({ text: "two" });
    expect(three.reply_to_message).not.toHaveProperty("reply_to_message");
    expect(telegram.sent.at(-1)?.replyTo).toBe(2);
    const quote = { message_id: 1, quote: "nowhere" };
    await expect(api.sendMessage(700, "x", { reply_parameters: quote })).rejects.toThrow(
      "QUOTE_TEXT_INVALID",
    );
  });

  it("counts ids per account in private chats and basic groups, per chat in supergroups", async () => {
    telegram.group({ id: -5, title: "Basic" });
    telegram.supergroup({ id: -1001, title: "Super" });
    const ids = [];
    for (const chat of [700, -5, -1001, 700, -1001]) ids.push((await api.sendMessage(chat, "x")).message_id);
    expect(ids).toEqual([1, 2, 1, 3, 2]);
  });

  it("answers 403 while the chat is closed", async () => {
    telegram.closeChat(700, "deactivated");
    await expect(api.sendMessage(700, "x")).rejects.toMatchObject({
      error_code: 403,
      description: "Forbidden: user is deactivated",
    });
    telegram.reopen(700);
    await api.sendMessage(700, "x");
  });

  it("names the new id of a group that moved", async () => {
    telegram.group({ id: -5, title: "Old" });
    telegram.migrate(-5, -1009);
    const error = await api.sendMessage(-5, "x").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GrammyError);
    expect(error).toMatchObject({ parameters: { migrate_to_chat_id: -1009 } });
    await api.sendMessage(-1009, "x");
  });
});

describe("topics of a forum", () => {
  it("take messages by number, General without one, and a closed one takes none", async () => {
    const forum = telegram.supergroup({ id: -1002, title: "Yard", forum: true });
    const topic = forum.topic("Knots", MIRA);
    const sent = await api.sendMessage(-1002, "x", { message_thread_id: topic });
    expect(sent).toMatchObject({ message_thread_id: topic, is_topic_message: true });
    expect((await api.sendMessage(-1002, "x")).message_thread_id).toBeUndefined();
    await expect(api.sendMessage(-1002, "x", { message_thread_id: 1 })).rejects.toThrow(
      "message thread not found",
    );
    await api.sendChatAction(-1002, "typing", { message_thread_id: 1 });
    forum.closeTopic(topic);
    await expect(api.sendMessage(-1002, "x", { message_thread_id: topic })).rejects.toThrow("TOPIC_CLOSED");
  });
});

describe("editing and deleting", () => {
  it("changes what is shown, and refuses what changes nothing", async () => {
    await api.sendMessage(700, "one");
    await api.editMessageText(700, 1, "two", { entities: [{ type: "italic", offset: 0, length: 3 }] });
    await expect(
      api.editMessageText(700, 1, " two", { entities: [{ type: "italic", offset: 1, length: 3 }] }),
    ).rejects.toThrow("message is not modified");
    expect(telegram.shown(700).map((message) => message.text)).toEqual(["two"]);
    await api.deleteMessage(700, 1);
    expect(telegram.shown(700)).toEqual([]);
    await expect(api.deleteMessage(700, 1)).rejects.toThrow("message to delete not found");
    expect((await api.sendMessage(700, "three")).message_id).toBe(2);
    await expect(api.editMessageText(700, 1, "x")).rejects.toThrow("message to edit not found");
  });

  it("edits captions and keyboards, but no text of media and nothing of others", async () => {
    const hers = telegram.privateChat(MIRA).sendText("mine");
    await expect(api.editMessageText(700, hers.message_id, "x")).rejects.toThrow("message can't be edited");
    const { message_id } = await api.sendPhoto(700, new InputFile(png(10, 10)), { caption: "one" });
    await expect(api.editMessageText(700, message_id, "x")).rejects.toThrow(
      "there is no text in the message",
    );
    const reply_markup = { inline_keyboard: [[{ text: "Yes", callback_data: "y" }]] };
    await api.editMessageReplyMarkup(700, message_id, { reply_markup });
    expect(telegram.shown(700).at(-1)).toMatchObject({ caption: "one", reply_markup });
    await api.editMessageCaption(700, message_id, { caption: "two" });
    expect(telegram.shown(700).at(-1)).toMatchObject({ caption: "two" });
    expect(telegram.shown(700).at(-1)).not.toHaveProperty("reply_markup");
  });
});

describe("sending media", () => {
  const bytes = Buffer.from([0, 13, 10, 45, 45, 255, 13, 10, 13, 10, 7]);

  it("keeps bytes, name and caption of what grammY uploads", async () => {
    const file = new InputFile(bytes, "tide table (final) ü.pdf");
    const message = await api.sendDocument(700, file, {
      caption: "see *this*",
      caption_entities: [{ type: "code", offset: 4, length: 6 }],
    });
    expect(message.document).toMatchObject({
      file_name: "tide table (final) ü.pdf",
      mime_type: "application/pdf",
      file_size: bytes.length,
    });
    expect(telegram.sent[0]).toMatchObject({
      caption: "see *this*",
      entities: [{ type: "code", offset: 4, length: 6 }],
      media: { kind: "document", bytes, fileName: "tide table (final) ü.pdf", mimeType: "application/pdf" },
    });
  });

  it("cuts an unquoted name at a semicolon and decodes %XX in it, as the real server does", async () => {
    await api.sendDocument(700, new InputFile(bytes, "a%20b; c.txt"));
    expect(telegram.sent[0]?.media?.fileName).toBe("a b");
  });

  it("sends a known file again by its id", async () => {
    const { voice } = await api.sendVoice(700, new InputFile(bytes), { duration: 3 });
    const again = await api.sendVoice(700, voice.file_id);
    expect(again.voice.file_id).toBe(voice.file_id);
    expect(telegram.sent.map((item) => item.media?.bytes)).toEqual([bytes, bytes]);
    await expect(api.sendVoice(700, "made-up")).rejects.toThrow("wrong file_id");
  });

  it.each([
    ["sendAudio", "audio"],
    ["sendVideo", "video"],
    ["sendVideoNote", "video_note"],
    ["sendAnimation", "animation"],
    ["sendSticker", "sticker"],
  ] as const)("knows %s", async (method, kind) => {
    const send: (chat: number, file: InputFile) => Promise<object> = api[method].bind(api);
    expect(await send(700, new InputFile(bytes, "x.bin"))).toHaveProperty(kind);
    expect(telegram.sent[0]).toMatchObject({ method, media: { kind, bytes } });
  });

  it("reads a photo's size and refuses what Telegram would", async () => {
    expect(await sendPhoto(png(640, 480))).toMatchObject({ width: 640, height: 480 });
    expect(await sendPhoto(jpeg(1000, 50))).toMatchObject({ width: 1000, height: 50 });
    await expect(sendPhoto(png(9000, 1001))).rejects.toThrow("PHOTO_INVALID_DIMENSIONS");
    await expect(sendPhoto(png(2100, 100))).rejects.toThrow("PHOTO_INVALID_DIMENSIONS");
    await expect(sendPhoto(bytes)).rejects.toThrow("IMAGE_PROCESS_FAILED");
    await expect(sendPhoto(Buffer.alloc((10 << 20) + 1))).rejects.toThrow("too big for a photo");
    await expect(sendPhoto(Buffer.alloc(0))).rejects.toThrow("file must be non-empty");
  });

  it("turns away more than 50 MB as the web server does, in HTML", async () => {
    const huge = new InputFile(Buffer.alloc((50 << 20) + 1), "x.bin");
    await expect(api.sendDocument(700, huge)).rejects.toBeInstanceOf(HttpError);
    expect(telegram.sent).toEqual([]);
  });

  it("sends an album as one, with what belongs together", async () => {
    const messages = await api.sendMediaGroup(700, [albumPhoto(5), albumPhoto(6)]);
    expect(messages).toHaveLength(2);
    expect(new Set(telegram.sent.map((item) => item.mediaGroupId)).size).toBe(1);
    expect(telegram.sent.map((item) => [item.caption, item.media?.bytes])).toEqual([
      ["5", png(10, 5)],
      ["6", png(10, 6)],
    ]);
    const document = { type: "document" as const, media: new InputFile(bytes, "x.txt") };
    await expect(api.sendMediaGroup(700, [albumPhoto(5)])).rejects.toThrow("at least 2");
    await expect(
      api.sendMediaGroup(
        700,
        Array.from({ length: 11 }, () => albumPhoto(5)),
      ),
    ).rejects.toThrow("too many");
    // @ts-expect-error grammY's type forbids it; a caller in JavaScript could still do it
    await expect(api.sendMediaGroup(700, [albumPhoto(5), document])).rejects.toThrow(
      "specified type in the album",
    );
    expect(telegram.sent).toHaveLength(2);
  });
});

describe("the rest", () => {
  it("logs chat actions and drafts; a draft ends with a message", async () => {
    await api.sendChatAction(700, "typing");
    await api.sendMessageDraft(700, 7, "so far");
    expect(telegram.chatActions).toMatchObject([{ chatId: 700, action: "typing" }]);
    expect(telegram.draftIn(700)).toBe("so far");
    await api.sendMessage(700, "so far, so good");
    expect(telegram.draftIn(700)).toBeUndefined();
    expect(telegram.sent).toHaveLength(1);
    telegram.group({ id: -5, title: "Basic" });
    await expect(api.sendMessageDraft(-5, 7, "x")).rejects.toThrow("TEXTDRAFT_PEER_INVALID");
    await expect(api.sendMessageDraft(700, 0, "x")).rejects.toThrow("non-zero");
  });

  it("takes reactions from the list, one a message", async () => {
    await api.sendMessage(700, "x");
    await api.setMessageReaction(700, 1, [{ type: "emoji", emoji: "👍" }]);
    // @ts-expect-error not an emoji that Telegram allows
    await expect(api.setMessageReaction(700, 1, [{ type: "emoji", emoji: "🦀" }])).rejects.toThrow(
      "REACTION_INVALID",
    );
    await expect(api.setMessageReaction(700, 9, [])).rejects.toThrow("message to react not found");
  });

  it("knows itself, chats, members and commands", async () => {
    expect(await api.getMe()).toEqual(telegram.me);
    expect(await api.getChat(700)).toMatchObject({ id: 700, type: "private" });
    expect(await api.getChatMember(700, 700)).toMatchObject({
      status: "member",
      user: { first_name: "Mira" },
    });
    const commands = [{ command: "new", description: "start afresh" }];
    await api.setMyCommands(commands, { language_code: "de" });
    expect(await api.getMyCommands({ language_code: "de" })).toEqual(commands);
    expect(await api.getMyCommands()).toEqual([]);
    await expect(api.setMyCommands([{ command: "New", description: "x" }])).rejects.toThrow(
      "BOT_COMMAND_INVALID",
    );
  });

  it("refuses other tokens and unknown methods", async () => {
    const stranger = new Api("123:AAA", { apiRoot: telegram.apiRoot });
    await expect(stranger.getMe()).rejects.toMatchObject({ error_code: 401, description: "Unauthorized" });
    const typo = new Api("nonsense", { apiRoot: telegram.apiRoot });
    await expect(typo.getMe()).rejects.toMatchObject({ error_code: 404, description: "Not Found" });
    await expect(api.sendDice(700, "🎲")).rejects.toMatchObject({ error_code: 404 });
  });

  it("reads query, form and JSON, with any case of the method", async () => {
    const root = `${telegram.apiRoot}/bot${telegram.token}`;
    const entities = [{ type: "bold", offset: 0, length: 1 }];
    const form = new URLSearchParams({ chat_id: "700", text: "two", entities: JSON.stringify(entities) });
    const json = { chat_id: "700", text: "three", entities: JSON.stringify(entities) };
    const answers = [
      await fetch(`${root}/SENDMESSAGE?chat_id=700&text=one`),
      await fetch(`${root}/test/sendMessage`, { method: "POST", body: form }),
      await fetch(`${root}/sendmessage`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(json),
      }),
      await fetch(`${root}/sendMessage`, { method: "POST" }),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 400]);
    expect(await answers[3]!.json()).toEqual({
      ok: false,
      error_code: 400,
      description: "Bad Request: chat_id is empty",
    });
    expect(telegram.sent.map((item) => [item.text, item.entities])).toEqual([
      ["one", []],
      ["two", entities],
      ["three", entities],
    ]);
    expect(telegram.calls.map((call) => call.method)).toEqual(Array.from({ length: 4 }, () => "sendMessage"));
  });
});

async function sendPhoto(picture: Buffer) {
  return (await api.sendPhoto(700, new InputFile(picture))).photo.at(-1);
}

function albumPhoto(height: number) {
  return { type: "photo" as const, media: new InputFile(png(10, height)), caption: `${height}` };
}

function buttonOf(callback_data: string) {
  return { inline_keyboard: [[{ text: "x", callback_data }]] };
}
