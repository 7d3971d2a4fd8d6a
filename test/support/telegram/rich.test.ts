import { Api, InputFile } from "grammy";
import type { InputRichBlock } from "grammy/types";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegram, type EmulatorOptions, type TelegramEmulator } from "./emulator.ts";
import { png } from "./pictures.ts";

const MIRA = { id: 700, firstName: "Mira" };

let telegram: TelegramEmulator;
let api: Api;

async function open(options: EmulatorOptions = {}): Promise<void> {
  telegram = await startTelegram(options);
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  telegram.privateChat(MIRA);
}

beforeEach(() => open());
afterEach(() => telegram.close());

/** Sends blocks of any shape, also such as no type would let through. */
function send(...blocks: readonly unknown[]) {
  return api.sendRichMessage(700, { blocks: blocks as InputRichBlock[] });
}

const words = { type: "paragraph", text: "x" };

describe("a rich message", () => {
  it("is kept as blocks, has no text, and its words stand in the log", async () => {
    const message = await send(
      { type: "heading", text: "Plan", size: 2 },
      { type: "paragraph", text: ["Do ", { type: "bold", text: "this" }, " first"] },
      {
        type: "table",
        cells: [[{ text: "a", is_header: true, align: "left", valign: "top" }, { text: "b" }]],
      },
      { type: "details", summary: "More", blocks: [words], is_open: false },
    );
    expect(message).not.toHaveProperty("text");
    expect(message.rich_message).toEqual({
      blocks: [
        { type: "heading", text: "Plan", size: 2 },
        { type: "paragraph", text: ["Do ", { type: "bold", text: "this" }, " first"] },
        {
          type: "table",
          cells: [
            [
              { text: "a", is_header: true, align: "left", valign: "top" },
              { text: "b", align: "left", valign: "middle" },
            ],
          ],
        },
        { type: "details", summary: "More", blocks: [words] },
      ],
    });
    expect(telegram.sent[0]).toMatchObject({ method: "sendRichMessage", text: undefined });
    expect(telegram.sent[0]?.rich).toMatchObject({
      text: "Plan\nDo this first\na | b\nMore\nx",
      unverifiable: false,
    });
  });

  it("numbers a list as it says, letters and Roman numerals too, and 0 where it says nothing", async () => {
    const item = (type?: string, value?: number) => ({ blocks: [words], type, value });
    const labels = async (...items: readonly object[]) => {
      const { rich_message } = await send({ type: "list", items });
      const [block] = rich_message.blocks;
      return block?.type === "list" ? block.items.map(({ label }) => label) : [];
    };
    expect(await labels(item(), item(undefined, 3))).toEqual(["•", "•"]);
    expect(await labels(item("1", 1), item("1", 2), item("1"))).toEqual(["1.", "2.", "0."]);
    expect(await labels(item("a", 2), item("A", 27), item("i", 4), item("I", 1999))).toEqual([
      "b.",
      "AA.",
      "iv.",
      "MCMXCIX.",
    ]);
  });

  it("carries files in its blocks", async () => {
    const photo = { type: "photo", media: new InputFile(png(30, 20)) };
    const { rich_message } = await send(
      { type: "photo", photo, caption: { text: "A kingfisher" } },
      { type: "document", document: { type: "document", media: new InputFile(Buffer.from("x"), "x.txt") } },
    );
    expect(rich_message.blocks).toMatchObject([
      { type: "photo", photo: [{ width: 30, height: 20 }], caption: { text: "A kingfisher" } },
      { type: "document", document: { file_name: "x.txt" } },
    ]);
  });

  it.each([
    ["no blocks", [], "rich message must be non-empty"],
    ["nothing to read", [{ type: "paragraph", text: "" }], "RICH_MESSAGE_CONTENT_REQUIRED"],
    ["a block that is null", [null], "block must be non-empty"],
    ["a block that is a word", ["x"], "object expected as InputRichMessageBlock"],
    ["a block without a type", [{ text: "x" }], `can't parse InputRichBlock: Can't find field "type"`],
    ["a block without a text", [{ type: "pre" }], `can't parse InputRichBlock: Can't find field "text"`],
    ["an unknown block", [{ type: "aside", text: "x" }], 'type "aside" is unsupported'],
    ["a thinking block", [{ type: "thinking", text: "x" }], "block is not allowed"],
    [
      "a heading of size 7",
      [{ type: "heading", text: "x", size: 7 }],
      "invalid section heading size specified",
    ],
    ["an empty list", [{ type: "list", items: [] }], "list must be non-empty"],
    ["a list item that is null", [{ type: "list", items: [null] }], "list item must be non-empty"],
    [
      "a list of both kinds",
      [{ type: "list", items: [{ blocks: [words] }, { blocks: [words], type: "1" }] }],
      "list must be either ordered or unordered",
    ],
    [
      "a list numbered by x",
      [{ type: "list", items: [{ blocks: [words], type: "x" }] }],
      "invalid list item type specified",
    ],
    ["a table cell that is null", [{ type: "table", cells: [[null]] }], "table cell must be non-empty"],
    [
      "a table cell that spans less than nothing",
      [{ type: "table", cells: [[{ text: "x", colspan: -1 }]] }],
      "invalid table cell colspan specified",
    ],
    [
      "a table cell that is aligned nowhere",
      [{ type: "table", cells: [[{ text: "x", align: "top" }]] }],
      "invalid horizontal alignment specified",
    ],
    ["details without content", [{ type: "details", summary: "x", blocks: [] }], "RICH_MESSAGE_EMPTY"],
    [
      "a map that is too large",
      [{ type: "map", location: { latitude: 1, longitude: 1 }, zoom: 3, width: 9000, height: 2000 }],
      "invalid map properties specified",
    ],
    ["a row of no buttons", [{ type: "buttons", buttons: [] }], "button row must be non-empty"],
    [
      "65 bytes behind a button",
      [{ type: "buttons", buttons: [{ text: "x", callback_data: "x".repeat(65) }] }],
      "BUTTON_DATA_INVALID",
    ],
    [
      "a photo whose object has no type",
      [{ type: "photo", photo: { media: "x" } }],
      `can't parse InputRichBlock: Can't find field "type"`,
    ],
    ["a video called a photo", [{ type: "photo", photo: { type: "video" } }], "unallowed media specified"],
    ["text in a slideshow", [{ type: "slideshow", blocks: [words] }], "unallowed media specified"],
    [
      "text of an unknown kind",
      [{ type: "paragraph", text: { type: "blink", text: "x" } }],
      "unsupported rich text",
    ],
    ["text that is a number", [{ type: "paragraph", text: 7 }], "invalid rich text specified"],
    [
      "a link to nowhere",
      [{ type: "paragraph", text: { type: "url", text: "x" } }],
      `can't parse RichText: Can't find field "url"`,
    ],
    ["half a character", [{ type: "paragraph", text: "\ud83d" }], "strings must be encoded in UTF-8"],
  ])("with %s is refused", async (_what, blocks, why) => {
    await expect(send(...blocks)).rejects.toMatchObject({
      error_code: 400,
      description: expect.stringContaining(`Bad Request: ${why}`),
    });
    expect(telegram.sent).toEqual([]);
  });
});

describe("the limits of a rich message", () => {
  const nested = (depth: number): unknown =>
    depth === 1 ? words : { type: "blockquote", blocks: [nested(depth - 1)] };
  const bold = (depth: number): unknown => (depth === 0 ? "x" : { type: "bold", text: bold(depth - 1) });
  const row = (columns: number) => Array.from({ length: columns }, () => ({ text: "x" }));
  const rule = { type: "divider" };

  it.each([
    [
      "32,768 characters",
      { type: "paragraph", text: "😀".repeat(32_768) },
      { type: "paragraph", text: "x".repeat(32_769) },
      "RICH_MESSAGE_TEXT_TOO_LONG",
    ],
    ["16 levels of blocks", nested(16), nested(17), "RICH_MESSAGE_DEPTH_INVALID"],
    [
      "16 levels of blocks and formatting",
      { type: "blockquote", blocks: [{ type: "paragraph", text: bold(14) }] },
      { type: "blockquote", blocks: [{ type: "paragraph", text: bold(15) }] },
      "RICH_MESSAGE_DEPTH_INVALID",
    ],
    [
      "20 columns",
      { type: "table", cells: [row(20)] },
      { type: "table", cells: [[...row(18), { text: "x", colspan: 3 }]] },
      "RICH_MESSAGE_TABLE_COLS_TOO_MANY",
    ],
    [
      "500 blocks, rows and all",
      { type: "table", cells: Array.from({ length: 499 }, () => row(1)) },
      { type: "table", cells: Array.from({ length: 500 }, () => row(1)) },
      "RICH_MESSAGE_BLOCKS_TOO_MANY",
    ],
    [
      "500 blocks, those in blocks and items too",
      { type: "list", items: [{ blocks: [words, ...Array.from({ length: 497 }, () => rule)] }] },
      { type: "list", items: [{ blocks: [words, ...Array.from({ length: 498 }, () => rule)] }] },
      "RICH_MESSAGE_BLOCKS_TOO_MANY",
    ],
  ])("are %s", async (_what, fits, exceeds, why) => {
    await send(fits);
    await expect(send(exceeds)).rejects.toThrow(`Bad Request: ${why}`);
  });

  it("are 50 media", async () => {
    const { document } = await api.sendDocument(700, new InputFile(Buffer.from("x"), "x.txt"));
    const block = { type: "document", document: { type: "document", media: document.file_id } };
    await send(...Array.from({ length: 50 }, () => block));
    await expect(send(...Array.from({ length: 51 }, () => block))).rejects.toThrow(
      "RICH_MESSAGE_MEDIA_TOO_MANY",
    );
  });
});

describe("rich Markdown", () => {
  it("is kept as it is and marked as what nobody here can check; its length is", async () => {
    await api.sendRichMessage(700, { markdown: "# Plan" });
    expect(telegram.sent[0]?.rich).toMatchObject({ text: "# Plan", unverifiable: true });
    await expect(api.sendRichMessage(700, { markdown: "x".repeat(32_769) })).rejects.toThrow(
      "RICH_MESSAGE_TEXT_TOO_LONG",
    );
    await expect(api.sendRichMessage(700, { markdown: "x", html: "x" })).rejects.toThrow("exactly one of");
  });

  it("is refused by who wants nothing unchecked", async () => {
    await telegram.close();
    await open({ lacks: ["richMarkup"] });
    await expect(api.sendRichMessage(700, { html: "<b>x</b>" })).rejects.toThrow("use blocks");
    await send(words);
  });
});

describe("a server from before rich messages", () => {
  it("has no such method, and sees an edit without any text", async () => {
    await telegram.close();
    await open({ lacks: ["rich"] });
    await expect(send(words)).rejects.toMatchObject({
      error_code: 404,
      description: "Not Found: method not found",
    });
    await expect(api.sendRichMessageDraft(700, 7, { blocks: [] })).rejects.toMatchObject({ error_code: 404 });
    await api.sendMessage(700, "x");
    const rich_message = { blocks: [] };
    await expect(api.raw.editMessageText({ chat_id: 700, message_id: 1, rich_message })).rejects.toThrow(
      "message text is empty",
    );
  });
});
