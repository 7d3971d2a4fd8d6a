import { describe, expect, it } from "vitest";
import { kindOf, safeMimeType, safeName, titleOf } from "../../../channels/web/inbound.ts";

describe("safeName", () => {
  it.each([
    ["list.pdf", "list.pdf"],
    ["../../etc/passwd", "passwd"],
    ["C:\\birds\\list.pdf", "list.pdf"],
    ["..", "file 1"],
    ["", "file 1"],
    ["a/", "file 1"],
    ["line\r\nbreak\0.txt", "linebreak.txt"],
    // U+202E would show "cod.exe" as "exe.doc" turned round.
    ["photo\u202Egnp.exe", "photognp.exe"],
    ["Übersicht (1).csv", "Übersicht (1).csv"],
    [`${"a".repeat(200)}.tar`, `${"a".repeat(116)}.tar`],
    [`${"a".repeat(115)}😀.tar`, `${"a".repeat(115)}.tar`],
  ])("makes of %j %j", (declared, name) => {
    expect(safeName(declared, "file 1")).toBe(name);
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
