import type { MessageEntity } from "grammy/types";
import { describe, expect, it } from "vitest";
import { captionText, messageText } from "./text.ts";

const bold = (offset: number, length: number): MessageEntity => ({ type: "bold", offset, length });
const mark = (type: string, offset: number, length: number) => ({ type, offset, length });

describe("text as Telegram keeps it", () => {
  it.each([
    ["a\tb\u0001c", "a b c"],
    ["a\r\nb", "a\nb"],
    ["A\u030a \u0333x\u033f", "A x"],
    ["a\u2028b\u202ec", "abc"],
    ["x\u200e\u200f\u200ey", "x\u200c\u200c\u200ey"],
    ["  \n hi \n ", "hi"],
  ])("turns %j into %j", (given, kept) => {
    expect(messageText(given, undefined).text).toBe(kept);
  });

  it.each([
    ["", "message text is empty"],
    [" \n ", "text must be non-empty"],
    ["\u200b\ufeff\u2800\u3000", "text must be non-empty"],
    ["x".repeat(4097), "message is too long"],
    ["é".repeat(16_385), "text is too long"],
    ["\ud83d", "strings must be encoded in UTF-8"],
  ])("refuses %j", (given, why) => {
    expect(() => messageText(given, undefined)).toThrow(`Bad Request: ${why}`);
  });

  it("counts code points, so 4,096 emoji fit", () => {
    expect(messageText("😀".repeat(4096), undefined).text).toHaveLength(8192);
  });

  it("lets captions be empty, and refuses more than 1,024", () => {
    expect(captionText(" ", undefined)).toBeUndefined();
    expect(() => captionText("x".repeat(1025), undefined)).toThrow("message caption is too long");
  });
});

describe("entities", () => {
  it("move with what is deleted and trimmed", () => {
    expect(messageText("  a\rb bold ", [bold(6, 4)])).toEqual({ text: "ab bold", entities: [bold(3, 4)] });
  });

  it("begin at their first visible character, and end with the text", () => {
    expect(messageText("a \n b  ", [bold(1, 6)])).toEqual({ text: "a \n b", entities: [bold(4, 1)] });
  });

  it("over blanks alone go away", () => {
    expect(messageText("a  b", [bold(1, 2)]).entities).toEqual([]);
  });

  it.each([
    [[bold(1, 1)], "entity begins in a middle of a UTF-16 symbol at byte offset 4"],
    [
      [bold(0, 1)],
      "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 4",
    ],
    [[bold(3, 9)], "entity beginning at UTF-16 offset 3 ends after the end of the text at UTF-16 offset 12"],
    [[bold(40, 1)], "entity begins after the end of the text at UTF-16 offset 40"],
    [[bold(-1, 1)], "receive an entity with incorrect offset -1"],
    [[{ type: "bold", offset: 0 }], `can't parse MessageEntity: Can't find field "length"`],
  ])("are refused: %j", (entities, why) => {
    expect(() => messageText("😀 abc", entities)).toThrow(why);
  });

  it.each([
    ["https://example.com", "https://example.com/"],
    ["example.com/a?b", "http://example.com/a?b"],
    ["mailto:x@y.org", "http://mailto:x@y.org/"],
    ["tg://user?id=1", "tg://user?id=1"],
  ])("link %s becomes %s", (url, kept) => {
    const given = { ...mark("text_link", 0, 2), url };
    expect(messageText("ab", [given]).entities).toEqual([{ ...given, url: kept }]);
  });

  it.each(["http://localhost", "tel:+1234", "javascript:alert(1)", "./a", "", "ftp://a.org"])(
    "link %j is refused",
    (url) => {
      expect(() => messageText("ab", [{ ...mark("text_link", 0, 2), url }])).toThrow(
        `entity URL '${url}' is invalid`,
      );
    },
  );

  it("that nest stay as they are", () => {
    const given = [mark("blockquote", 0, 9), bold(0, 9), mark("italic", 2, 3)];
    expect(messageText("abcdefghi", given).entities).toEqual(given);
  });

  it("that cross are cut where the next one starts", () => {
    const given = [bold(0, 5), mark("italic", 3, 6)];
    expect(messageText("abcdefghi", given).entities).toEqual([bold(0, 3), mark("italic", 3, 6), bold(3, 2)]);
  });

  it("of one kind are joined", () => {
    expect(messageText("abcdef", [bold(0, 3), bold(2, 2), bold(4, 2)]).entities).toEqual([bold(0, 6)]);
  });

  it("inside code are dropped, and styles around it are cut", () => {
    const given = [bold(0, 9), mark("code", 3, 3), mark("italic", 4, 1)];
    expect(messageText("abcdefghi", given).entities).toEqual([bold(0, 3), mark("code", 3, 3), bold(6, 3)]);
  });

  it("that Telegram finds by itself are ignored", () => {
    expect(messageText("@someone", [mark("mention", 0, 8)]).entities).toEqual([]);
  });

  it("may hold about 9,500 bytes, addresses and all", () => {
    const links = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        ...mark("text_link", i * 2, 1),
        url: `https://example.org/${"a".repeat(200)}`,
      }));
    expect(messageText("x ".repeat(100), links(40)).entities).toHaveLength(40);
    expect(() => messageText("x ".repeat(100), links(42))).toThrow("Bad Request: ENTITIES_TOO_LONG");
  });

  it("are at most 100", () => {
    const given = Array.from({ length: 120 }, (_, i) => bold(i * 2, 1));
    expect(messageText("x ".repeat(120), given).entities).toHaveLength(100);
  });
});
