import { describe, expect, it } from "vitest";
import type { MessageEvent } from "../../src/core/events.ts";
import { gather, reopened, windowKind, windowMs } from "../../src/intake/gather.ts";
import type { OpenIntent } from "../../src/store/inbox.ts";
import { OPEN_TO_ADA } from "../support/gateway.ts";

const { gather: RULES } = OPEN_TO_ADA;
const BY = { rules: RULES, window: "text" };
const TEXT: MessageEvent = {
  type: "message",
  id: "1",
  ref: "1",
  place: { chat: "5", kind: "private" },
  from: { id: "1", name: "Ada" },
  sentAt: "2026-01-01T00:00:00.000Z",
  content: [{ type: "text", text: "hello" }],
  addressed: true,
};
const LONG: MessageEvent = { ...TEXT, content: [{ type: "text", text: "x".repeat(4_000) }] };
const PHOTO: MessageEvent = {
  ...TEXT,
  content: [{ type: "unfetched", kind: "image", ref: "f", declared: {} }],
};
const VOICE: MessageEvent = {
  ...TEXT,
  content: [{ type: "unfetched", kind: "audio", ref: "v", declared: { label: "voice note" } }],
};
const FORWARD: MessageEvent = { ...TEXT, forward: { from: "Eve" } };
const ITEM: MessageEvent = { ...PHOTO, albumId: "g" };
const WHOLE: MessageEvent = { ...PHOTO, whole: true };

const OPEN: OpenIntent = {
  intent: 7,
  firstAt: 1_000,
  dueAt: 2_500,
  album: "",
  during: "",
  messages: 1,
  characters: 5,
  albumMessages: 0,
  albumCharacters: 0,
};
const ALBUM: OpenIntent = { ...OPEN, album: "g", albumMessages: 1 };

describe("windows", () => {
  it.each([
    ["a text", TEXT, "text", 300],
    ["a text that may be a fragment", LONG, "fragment", 1_500],
    ["a photo", PHOTO, "media", 1_500],
    ["a voice note", VOICE, "media", 1_500],
    ["an album's item", ITEM, "album", 1_000],
    ["a forward", FORWARD, "forward", 300],
    ["a forwarded photo, as any photo", { ...PHOTO, forward: { from: "Eve" } }, "media", 1_500],
    ["what is whole", WHOLE, "whole", 0],
  ])("wait after %s", (_name, event, kind, ms) => {
    expect([windowKind(event), windowMs(event, RULES)]).toEqual([kind, ms]);
  });

  it("are as long as the operator wants them", () => {
    const rules = { ...RULES, textMs: 2_000, albumMs: 0 };
    expect([windowMs(TEXT, rules), windowMs(ITEM, rules), windowMs(PHOTO, rules)]).toEqual([2_000, 0, 1_500]);
  });
});

describe("gathering", () => {
  it("opens an intent where there is none", () => {
    expect(gather(TEXT, undefined, 1_000, BY)).toEqual({
      joins: undefined,
      dueAt: 1_300,
      why: "nothing open",
    });
  });

  it("joins what is open, and never closes its window earlier", () => {
    const why = "window of media";
    const by = { rules: RULES, window: "media" };
    expect(gather(TEXT, OPEN, 1_200, by)).toEqual({ joins: 7, dueAt: 2_500, why });
    expect(gather(TEXT, OPEN, 2_400, by)).toEqual({ joins: 7, dueAt: 2_700, why });
  });

  it("opens a new intent once the window has closed", () => {
    expect(gather(TEXT, OPEN, 2_500, BY)).toEqual({ joins: undefined, dueAt: 2_800, why: "window closed" });
  });

  it.each([
    ["a question after a photo", TEXT, "media", "window of media"],
    ["a photo after a text", PHOTO, "text", "window of text"],
    ["the second part of what a client has split", LONG, "fragment", "window of fragment"],
    ["a forward after a comment", FORWARD, "text", "comment of a forward"],
    [
      "a forwarded photo after a comment",
      { ...PHOTO, forward: { from: "Eve" } },
      "text",
      "comment of a forward",
    ],
    ["a comment after a forward", TEXT, "forward", "comment of a forward"],
    ["a forward after a forward", FORWARD, "forward", "window of forward"],
    ["a text while an edit holds the window open", TEXT, "", "window of text"],
  ])("says why it joins %s", (_name, event, window, why) => {
    expect(gather(event, OPEN, 1_200, { rules: RULES, window })).toMatchObject({ joins: 7, why });
  });

  it("takes a late item of an album in, for its turn has not begun", () => {
    expect(gather(ITEM, ALBUM, 4_000, BY)).toEqual({ joins: 7, dueAt: 5_000, why: "album" });
    expect(gather({ ...PHOTO, albumId: "h" }, ALBUM, 4_000, BY).joins).toBeUndefined();
  });

  it("keeps nobody waiting longer than ten seconds, or what the operator says", () => {
    expect(gather(PHOTO, { ...OPEN, dueAt: 10_900 }, 10_800, BY)).toMatchObject({ joins: 7, dueAt: 11_000 });
    const rules = { ...RULES, longestMs: 2_000 };
    expect(gather(PHOTO, OPEN, 2_000, { ...BY, rules })).toMatchObject({ joins: 7, dueAt: 3_000 });
  });

  it("joins nothing whose window would be open for as long as a clock was set back", () => {
    expect(gather(TEXT, OPEN, 999, BY)).toMatchObject({ joins: undefined, why: "window closed" });
  });

  it("leaves what is whole alone", () => {
    expect(gather({ ...TEXT, whole: true }, OPEN, 1_200, BY)).toMatchObject({
      joins: undefined,
      why: "whole",
    });
  });

  it.each([
    ["a thirteenth message", TEXT, { messages: 12 }, "12 messages"],
    ["more than 50,000 characters", LONG, { characters: 46_001 }, "50000 characters"],
    ["the first item of another album", { ...ITEM, albumId: "h" }, { messages: 12 }, "12 messages"],
    ["an item of an album that is too much itself", ITEM, { ...ALBUM, albumMessages: 12 }, "12 messages"],
  ])("opens a new intent for %s", (_name, event, more, why) => {
    expect(gather(event, { ...OPEN, ...more }, 1_200, BY)).toMatchObject({ joins: undefined, why });
  });

  it.each([
    ["the twelfth message", TEXT, { messages: 11 }],
    ["exactly 50,000 characters", LONG, { characters: 46_000 }],
    ["an item of an album that has begun", ITEM, { ...ALBUM, messages: 15, characters: 50_000 }],
  ])("takes in %s", (_name, event, more) => {
    expect(gather(event, { ...OPEN, ...more }, 1_200, BY).joins).toBe(7);
  });

  it("answers all that came late at once, however many messages it is, but not however long", () => {
    const open = { ...OPEN, messages: 100, characters: 49_990 };
    const by = { ...BY, late: true };
    expect(gather(TEXT, open, 1_200, by)).toEqual({ joins: 7, dueAt: 6_200, why: "late" });
    expect(gather(LONG, open, 1_200, by)).toMatchObject({ joins: undefined, why: "50000 characters" });
  });
});

describe("collecting while a turn runs", () => {
  const by = { ...BY, collects: true };

  it("joins whatever the window, and is due after its own", () => {
    expect(gather(PHOTO, OPEN, 60_000, by)).toEqual({ joins: 7, dueAt: 61_500, why: "collect" });
    expect(gather({ ...TEXT, whole: true }, OPEN, 60_000, by)).toEqual({
      joins: 7,
      dueAt: 60_000,
      why: "collect",
    });
    expect(gather(TEXT, { ...OPEN, dueAt: 61_000 }, 60_500, by)).toMatchObject({ joins: 7, dueAt: 61_000 });
  });

  it("keeps to the bounds", () => {
    expect(gather(TEXT, { ...OPEN, messages: 12 }, 60_000, by)).toMatchObject({
      joins: undefined,
      why: "12 messages",
    });
  });
});

describe("a window in which a message was edited", () => {
  it("stays open for as long as after a text, within the ten seconds", () => {
    expect(reopened(OPEN, 2_400, RULES)).toBe(2_700);
    expect(reopened(OPEN, 2_000, RULES)).toBe(2_500);
    expect(reopened(OPEN, 10_900, RULES)).toBe(11_000);
  });
});
