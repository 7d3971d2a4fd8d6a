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

describe("sending what is neither text nor file", () => {
  it("keeps places, contacts and dice as the docs say", async () => {
    expect(await api.sendLocation(700, 53.3, -6.2)).toMatchObject({
      location: { latitude: 53.3, longitude: -6.2 },
    });
    // Older clients look for the place alone.
    expect(await api.sendVenue(700, 53.3, -6.2, "Pier", "1 Quay St")).toMatchObject({
      venue: { title: "Pier", address: "1 Quay St", location: { latitude: 53.3 } },
      location: { latitude: 53.3 },
    });
    expect(await api.sendContact(700, "+15550100", "Nia")).toMatchObject({ contact: { first_name: "Nia" } });
    expect((await api.sendDice(700, "⚽")).dice.value).toBeLessThanOrEqual(5);
    expect(telegram.sent.map(({ method }) => method)).toEqual([
      "sendLocation",
      "sendVenue",
      "sendContact",
      "sendDice",
    ]);
    await expect(api.sendLocation(700, 91, 0)).rejects.toThrow("invalid location specified");
    await expect(api.sendContact(700, "", "Nia")).rejects.toThrow("must be non-empty");
    await expect(api.sendDice(700, "🦀")).rejects.toThrow("DICE_EMOJI_INVALID");
  });
});

describe("sending again", () => {
  it("forwards with the origin, and copies without it", async () => {
    telegram.privateChat({ id: 701, firstName: "Tomás" });
    const { message_id } = telegram.privateChat(MIRA).sendText("from Mira");
    expect(await api.forwardMessage(701, 700, message_id)).toMatchObject({
      chat: { id: 701 },
      from: { is_bot: true },
      text: "from Mira",
      forward_origin: { type: "user", sender_user: { id: 700 } },
    });
    const copy = await api.copyMessage(701, 700, message_id);
    expect(copy).toEqual({ message_id: message_id + 2 });
    expect(telegram.message(701, copy.message_id)).not.toHaveProperty("forward_origin");
    await expect(api.forwardMessage(701, 700, 99)).rejects.toThrow("message to forward not found");
    await expect(api.copyMessage(701, 700, 99)).rejects.toThrow("message to copy not found");
  });

  it("does so with many, passing over what is gone, with and without their captions", async () => {
    const photo = () => new InputFile(png(10, 10));
    await api.sendPhoto(700, photo(), { caption: "one" });
    await api.sendPhoto(700, photo(), { caption: "two" });
    expect(await api.forwardMessages(700, 700, [1, 2, 99])).toEqual([{ message_id: 3 }, { message_id: 4 }]);
    await api.copyMessages(700, 700, [1], { remove_caption: true });
    await api.copyMessages(700, 700, [1]);
    await api.copyMessage(700, 700, 1, { caption: "three" });
    const captions = [3, 4, 5, 6, 7].map((id) => telegram.message(700, id)?.caption);
    expect(captions).toEqual(["one", "two", undefined, "one", "three"]);
  });
});

describe("the rest", () => {
  it("logs chat actions of known kinds", async () => {
    await api.sendChatAction(700, "typing");
    expect(telegram.chatActions).toMatchObject([{ chatId: 700, action: "typing", threadId: undefined }]);
    // @ts-expect-error no action of Telegram's
    await expect(api.sendChatAction(700, "thinking")).rejects.toThrow("wrong parameter action");
  });

  it("takes reactions from the list, one a message", async () => {
    await api.sendMessage(700, "x");
    await api.setMessageReaction(700, 1, [{ type: "emoji", emoji: "👍" }]);
    // @ts-expect-error not an emoji that Telegram allows
    await expect(api.setMessageReaction(700, 1, [{ type: "emoji", emoji: "🦀" }])).rejects.toThrow(
      "REACTION_INVALID",
    );
    await expect(api.setMessageReaction(700, 9, [])).rejects.toThrow("message to react not found");
    expect(telegram.reactions).toMatchObject([
      { chatId: 700, messageId: 1, reaction: [{ type: "emoji", emoji: "👍" }] },
    ]);
  });

  it("knows itself, chats and members", async () => {
    expect(await api.getMe()).toEqual(telegram.me);
    expect(await api.getChat(700)).toMatchObject({ id: 700, type: "private" });
    expect(await api.getChatMember(700, 700)).toMatchObject({
      status: "member",
      user: { first_name: "Mira" },
    });
    await expect(api.getChatMember(700, 701)).rejects.toThrow("member not found");
  });

  it("refuses other tokens and unknown methods", async () => {
    const stranger = new Api("123:AAA", { apiRoot: telegram.apiRoot });
    await expect(stranger.getMe()).rejects.toMatchObject({ error_code: 401, description: "Unauthorized" });
    const typo = new Api("nonsense", { apiRoot: telegram.apiRoot });
    await expect(typo.getMe()).rejects.toMatchObject({ error_code: 404, description: "Not Found" });
    await expect(api.getUserProfilePhotos(700)).rejects.toMatchObject({ error_code: 404 });
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
