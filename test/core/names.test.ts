import { describe, expect, it } from "vitest";
import { diskName, safeName } from "../../src/core/names.ts";

const RLO = "\u202e";
const ZWNJ = "\u200c";
const FAMILY = "👨‍👩‍👧‍👦";

describe("a name that is safe", () => {
  it.each([
    ["report.md", "report.md"],
    ["Bericht für Müller (2).pdf", "Bericht für Müller (2).pdf"],
    ["北京 出差.xlsx", "北京 出差.xlsx"],
    [`می${ZWNJ}خواهم.md`, `می${ZWNJ}خواهم.md`],
    [`${FAMILY}.png`, `${FAMILY}.png`],
    ["❤️.png", "❤️.png"],
    ["archive.tar.gz", "archive.tar.gz"],
    ["+page.svelte", "+page.svelte"],
  ])("stays as it is: %s", (name, shown) => {
    expect(safeName(name)).toBe(shown);
  });

  it.each([
    ["parts of a path", "../../../../tmp/escape-4271.md", "escape-4271.md"],
    ["parts of a path on Windows", String.raw`C:\Users\ada\..\notes.md`, "notes.md"],
    ["a folder's slash", "folder/", "folder"],
    ["characters that turn text around", `invoice_${RLO}gpj.exe`, "invoice_gpj.exe"],
    ["marks and isolates of direction", "a\u200e\u200f\u061c\u2066b\u2069.txt", "ab.txt"],
    ["control characters", "a\u0000b\nc\u007f\u0085.txt", "abc.txt"],
    ["characters that nobody sees", "a\u200b\u00ad\ufeff\u2060\u3164.txt", "a.txt"],
    ["words written in tags", "a\u{e0041}\u{e0042}\u{e007f}.txt", "a.txt"],
    ["lone surrogates", "a\ud83d.txt", "a\ufffd.txt"],
    ["separators of lines", "a\u2028b\u2029.txt", "ab.txt"],
    ["dots and spaces at the end", "report. . .", "report"],
    ["spaces at the start, and many of them", "  a \u00a0\u3000 b.txt", "a b.txt"],
    ["another way to write the same letters", "Mu\u0308ller.txt", "Müller.txt"],
  ])("is rid of %s", (_what, name, shown) => {
    expect(safeName(name)).toBe(shown);
  });

  it.each([undefined, "", ".", "..", "/", "...", "   ", "\u0000", ZWNJ, "\u200b\u200b", "../..", "\u0301"])(
    "is none where nothing is left: %j",
    (name) => expect(safeName(name)).toBeUndefined(),
  );

  it.each([
    ["two bytes a letter", `${"é".repeat(200)}.md`, `${"é".repeat(98)}.md`],
    ["one byte a letter", `${"x".repeat(300)}.md`, `${"x".repeat(117)}.md`],
    ["four bytes a letter", `${"🦊".repeat(100)}.md`, `${"🦊".repeat(49)}.md`],
    ["families of 25 bytes", `${FAMILY.repeat(20)}.md`, `${FAMILY.repeat(7)}.md`],
    ["no ending", "x".repeat(300), "x".repeat(120)],
    ["an ending that is none", `a.${"x".repeat(300)}`, `a.${"x".repeat(118)}`],
    ["a letter under a heap of marks", `a${"\u0301".repeat(300)}.md`, "á.md"],
  ])("is shortened between characters and keeps its ending: %s", (_what, name, shown) => {
    const safe = safeName(name);
    expect(safe).toBe(shown);
    expect(Buffer.byteLength(safe ?? "")).toBeLessThanOrEqual(200);
    expect(Array.from(safe ?? "").length).toBeLessThanOrEqual(120);
  });

  it("is as safe as it was when it is made safe again", () => {
    for (const name of ["a. . .b", ".-~x", "CON .txt", `${"é".repeat(97)} .. ${"é".repeat(200)}`, "a:b"]) {
      const once = safeName(name);
      expect(safeName(once)).toBe(once);
    }
  });
});

describe("a name on disk", () => {
  it.each([
    ["what means something to a file system", `a<b>c:d"e|f?g*.txt`, "a_b_c_d_e_f_g_.txt"],
    ["a device of Windows", "CON", "_CON"],
    ["a device with an ending", "nul.tar.gz", "_nul.tar.gz"],
    ["a device with a number", "Com1.txt", "_Com1.txt"],
    ["a dot that hides it", ".bashrc", "_bashrc"],
    ["dots that look like a path", "..evil.txt", "_evil.txt"],
    ["a dash that makes it an option", "--output.txt", "_output.txt"],
    ["a home", "~root.txt", "_root.txt"],
  ])("is rid of %s", (_what, name, onDisk) => {
    expect(diskName(safeName(name) ?? "")).toBe(onDisk);
  });

  it.each(["CONTRACT.txt", "console.log", "auxiliary.txt", "com10.txt", "nullable.ts", "+page.svelte"])(
    "takes %s for no device",
    (name) => expect(diskName(name)).toBe(name),
  );
});
