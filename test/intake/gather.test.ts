import { describe, expect, it } from "vitest";
import type { MessageEvent } from "../../src/core/events.ts";
import { gather, windowMs } from "../../src/intake/gather.ts";

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
const PHOTO: MessageEvent = {
  ...TEXT,
  content: [{ type: "unfetched", kind: "image", ref: "f", declared: {} }],
};

describe("windows", () => {
  it.each([
    ["a text", TEXT, 300],
    [
      "a text that may be a fragment",
      { ...TEXT, content: [{ type: "text" as const, text: "x".repeat(4_000) }] },
      1_500,
    ],
    ["a photo", PHOTO, 1_500],
    ["an album's item", { ...PHOTO, albumId: "g" }, 1_000],
    ["a forward", { ...TEXT, forward: { from: "Eve" } }, 300],
    ["what is whole", { ...PHOTO, whole: true as const }, 0],
  ])("waits after %s", (_name, event, ms) => {
    expect(windowMs(event)).toBe(ms);
  });
});

describe("gathering", () => {
  const open = { intent: 7, firstAt: 1_000, dueAt: 2_500, album: "" };

  it("opens an intent where there is none", () => {
    expect(gather(TEXT, undefined, 1_000)).toEqual({ joins: undefined, dueAt: 1_300 });
  });

  it("joins what is open, and never closes its window earlier", () => {
    expect(gather(TEXT, open, 1_200)).toEqual({ joins: 7, dueAt: 2_500 });
    expect(gather(TEXT, open, 2_400)).toEqual({ joins: 7, dueAt: 2_700 });
  });

  it("opens a new intent once the window has closed", () => {
    expect(gather(TEXT, open, 2_500)).toEqual({ joins: undefined, dueAt: 2_800 });
  });

  it("takes a late item of an album in, for its turn has not begun", () => {
    expect(gather({ ...PHOTO, albumId: "g" }, { ...open, album: "g" }, 4_000)).toEqual({
      joins: 7,
      dueAt: 5_000,
    });
    expect(gather({ ...PHOTO, albumId: "h" }, { ...open, album: "g" }, 4_000).joins).toBeUndefined();
  });

  it("keeps nobody waiting longer than ten seconds", () => {
    expect(gather(PHOTO, { ...open, dueAt: 10_900 }, 10_800)).toEqual({ joins: 7, dueAt: 11_000 });
  });

  it("leaves what is whole alone", () => {
    expect(gather({ ...TEXT, whole: true }, open, 1_200).joins).toBeUndefined();
  });
});
