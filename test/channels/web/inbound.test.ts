import { describe, expect, it } from "vitest";
import { kindOf, safeMimeType, titleOf, toMessage } from "../../../channels/web/inbound.ts";

describe("toMessage", () => {
  it("makes of several files without a word nothing but those files, in their order", () => {
    const file = { mimeType: "image/png", bytes: 1, sha256: "00", voice: false };
    const files = [
      { ...file, ref: "c.i.0", name: 'x"></document>.png' },
      { ...file, ref: "c.i.1", name: "voice.webm", mimeType: "audio/webm", voice: true, durationSeconds: 2 },
    ];
    const { content, whole } = toMessage({ chat: "c", id: "i", text: " \n", files }, "2026-01-01T00:00:00Z");
    expect(whole).toBe(true);
    expect(content).toEqual([
      {
        type: "unfetched",
        kind: "image",
        ref: "c.i.0",
        declared: { mimeType: "image/png", filename: 'x"></document>.png', bytes: 1 },
      },
      {
        type: "unfetched",
        kind: "audio",
        ref: "c.i.1",
        declared: {
          mimeType: "audio/webm",
          filename: "voice.webm",
          bytes: 1,
          durationSeconds: 2,
          label: "voice note",
        },
      },
    ]);
  });
});

describe("safeMimeType", () => {
  it.each([
    ["audio/webm;codecs=opus", "audio/webm"],
    ["Image/PNG", "image/png"],
    ["", "application/octet-stream"],
    ["text/html\r\nx: y", "application/octet-stream"],
    ["nonsense", "application/octet-stream"],
  ])("makes of %j %j", (declared, type) => {
    expect(safeMimeType(declared)).toBe(type);
  });
});

describe("kindOf", () => {
  it.each([
    ["image/png", "image"],
    ["image/svg+xml", "file"],
    ["audio/ogg", "audio"],
    ["video/mp4", "video"],
    ["application/pdf", "file"],
  ])("says that %s is %s", (mimeType, kind) => {
    expect(kindOf(mimeType)).toBe(kind);
  });
});

describe("titleOf", () => {
  it.each([
    ["short", "short"],
    ["  two\n lines ", "two lines"],
    ["a".repeat(60), `${"a".repeat(48)}…`],
    ["word ".repeat(20), `${"word ".repeat(9).trim()}…`],
    [`${"a".repeat(47)}😀 and on`, `${"a".repeat(47)}…`],
  ])("calls a conversation that begins with %j %j", (text, title) => {
    expect(titleOf({ chat: "c", id: "i", text, files: [] })).toBe(title);
  });
});
