import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ChatId } from "../../src/core/identity.ts";
import { Workspaces } from "../../src/store/workspace.ts";
import { INLINE_BYTES } from "../../src/media/documents/inline.ts";
import { document, encoded, readDocument } from "../support/documents.ts";
import { zip } from "../support/zip.ts";

/** Little-endian, without a mark. */
function utf32(text: string): Buffer {
  return Buffer.from(Uint32Array.from(Array.from(text), (character) => character.codePointAt(0) ?? 0).buffer);
}

describe("text in any encoding", () => {
  it.each([
    ["DOC-01", "utf16le_bom.csv", ["Škofja Loka", "李雷", "12,50 €"]],
    ["DOC-05", "utf32le_bom.txt", ["été 4271"]],
    ["DOC-08", "shift_jis.txt", ["議事録", "表示能力", "ソフトウェア", "4271"]],
    ["DOC-10", "windows1252.txt", ["réunion", "1 250 €", "l’équipe “achats”", "Œuvre"]],
    ["DOC-11", "latin1.txt", ["Müllers Café öffnet täglich", "Übergrößen"]],
    ["DOC-17", "multibyte_at_4096.bin", ["编码测试。"]],
    ["DOC-21", "+page.svelte", ["let n = 4271;"]],
    ["BIN-14", "utf8_bom.csv", ["Łódź"]],
  ])("%s: %s", async (_, name, words) => {
    const { text, taken } = await readDocument(document(name), { filename: name });
    for (const word of words) expect(text).toContain(word);
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    expect(text).not.toMatch(/[\ufffd\ufeff\0-\u0008\u000e-\u001f\u007f-\u009f]/);
    expect(taken.outcome).toBe("extracted");
  });

  const long: Readonly<Record<string, string>> = {
    shift_jis: "会議の議事録です。来週の月曜日に東京で打ち合わせがあります。",
    "euc-jp": "会議の議事録です。来週の月曜日に東京で打ち合わせがあります。",
    gb18030: "会议纪要：下周一在北京讨论新产品的发布计划，请准时参加。",
    big5: "會議紀要：下週一在台北討論新產品的發布計畫，請準時參加。",
    "euc-kr": "회의록입니다. 다음 주 월요일 서울에서 만나겠습니다.",
    "windows-1251": "Протокол встречи: в понедельник обсуждаем новый договор.",
    "koi8-r": "Протокол встречи: в понедельник обсуждаем новый договор.",
    "windows-1250":
      "Zápis ze schůze: v pondělí projednáme novou smlouvu, prosím přijďte včas. Příští týden bude schůze.",
    "windows-1253": "Πρακτικά της συνεδρίασης: τη Δευτέρα συζητάμε τη νέα σύμβαση.",
    "windows-1255": "פרוטוקול הפגישה: ביום שני נדון בחוזה החדש.",
    "windows-1256": "محضر الاجتماع: نناقش العقد الجديد يوم الاثنين.",
    "windows-1252": "Der Preis beträgt 12,50 € – „günstig“ für alle Gäste.",
    ibm866: "Протокол встречи: в понедельник обсуждаем новый договор.",
    "x-mac-cyrillic": "Протокол встречи: в понедельник мы обсуждаем ещё новую статью, её объём и себя.",
    macintosh: "Der Bäcker überlegt, ob größere Brötchen für die Gäste günstiger wären.",
    "windows-874": "รายงานการประชุม วันจันทร์หน้า เราจะพูดคุยเรื่องสัญญาใหม่",
  };
  const short: readonly (readonly [string, string])[] = [
    ["windows-1252", "Grüße"],
    ["windows-1252", "naïve"],
    ["windows-1252", "name;price\nMüller;12\nother;13"],
    ["shift_jis", "カメラ,100"],
    ["gb18030", "姓名,年龄\n张三,20"],
    ["big5", "姓名,價格"],
    ["euc-kr", "이름,나이\n김철수,20"],
    ["windows-1251", "Привет"],
  ];
  it.each([...Object.entries(long), ...short])("tells %s by its bytes: %s", async (label, words) => {
    const { text } = await readDocument(encoded(`${words}\n`, label));
    expect(text).toBe(`${words}\n`);
  });

  it("reads what DOS wrote in Western Europe", async () => {
    const bytes = Buffer.from(
      "Der B\x84cker \x81berlegt, ob gr\x94\xe1ere Br\x94tchen \x9abrig w\x84ren.\n",
      "latin1",
    );
    const { text } = await readDocument(bytes, { filename: "a.txt" });
    expect(text).toBe("Der Bäcker überlegt, ob größere Brötchen Übrig wären.\n");
  });

  it.each([
    "Note¹ on the area² of m³: see¹ and², of x¹y²z³ and 5µm.\n",
    "Það er ágætt að þú ert hér, því ég þarf það.\n",
  ])("takes nothing for older than it is: %s", async (source) => {
    expect((await readDocument(encoded(source, "windows-1252"), { filename: "a.txt" })).text).toBe(source);
  });

  it("tells an encoding whose first character stands far behind the head", async () => {
    const ascii = "GET /index.html 200\n".repeat(5_000);
    const { whole } = await readDocument(
      Buffer.concat([Buffer.from(ascii), encoded("Größe: 12 €\n", "windows-1252")]),
    );
    expect(whole.endsWith("Größe: 12 €\n")).toBe(true);
  });

  it.each([
    ["UTF-16 little-endian without a mark", Buffer.from("Grüße aus Łódź,\n4271\n", "utf16le")],
    ["UTF-16 big-endian without a mark", Buffer.from("Grüße aus Łódź,\n4271\n", "utf16le").swap16()],
    ["UTF-16 big-endian", Buffer.from("\ufeffGrüße aus Łódź,\n4271\n", "utf16le").swap16()],
    ["UTF-32 big-endian", utf32("\ufeffGrüße aus Łódź,\n4271\n").swap32()],
    ["UTF-32 little-endian without a mark", utf32("Grüße aus Łódź,\n4271\n")],
    ["UTF-32 big-endian without a mark", utf32("Grüße aus Łódź,\n4271\n").swap32()],
    ["NULs between its lines", Buffer.from("Grüße aus Łódź,\n\0\0\0\u00004271\n")],
    ["line ends of Windows and of old Macs", Buffer.from("Grüße aus Łódź,\r\n4271\r")],
  ])("reads %s", async (_, bytes) => {
    const { text } = await readDocument(bytes, { filename: "a.txt" });
    expect(text).toBe("Grüße aus Łódź,\n4271\n");
  });

  it.each([
    "Протокол № 4271, ещё одна строка.\n".repeat(4),
    "これは日本語のテキストです。東京は日本の首都です。\n",
    "会议纪要：下周一在北京讨论新产品的发布计划。\n第 2 行\n",
    "회의록입니다. 다음 주 월요일 서울에서 만나겠습니다.\n",
  ])("reads UTF-16 without a mark in a script that has hardly a NUL: %s", async (source) => {
    expect((await readDocument(Buffer.from(source, "utf16le"))).text).toBe(source);
    expect((await readDocument(Buffer.from(source, "utf16le").swap16())).text).toBe(source);
  });

  it("reads Japanese mail's seven bits", async () => {
    const wide = encoded("会議の議事録", "euc-jp").map((byte) => byte & 0x7f);
    const bytes = Buffer.concat([Buffer.from("No. 4271: \u001b$B"), wide, Buffer.from("\u001b(B.\n")]);
    expect((await readDocument(bytes)).text).toBe("No. 4271: 会議の議事録.\n");
  });

  it("DOC-12: keeps UTF-8 with a few bad bytes as UTF-8", async () => {
    const { text } = await readDocument(document("mixed_invalid_utf8.log"), { filename: "a.log" });
    expect(text).toContain("ok line 1\n");
    expect(text).toContain("\ufffd");
    expect(text).toContain("naïve café 4271");
  });

  it.each([
    ["DOC-02", "utf16le_bom_only.csv"],
    ["DOC-18", "empty.txt"],
    ["DOC-19", "whitespace_only.txt"],
  ])("%s: %s is told to be empty", async (_, name) => {
    const { taken } = await readDocument(document(name), { filename: name });
    expect(taken).toEqual({
      blocks: [{ type: "text", text: `[I could not use ${name}: it is empty.]` }],
      outcome: "unreadable",
      notice: { key: "media.empty", values: { name } },
    });
  });

  it("says so when what began as text is none", async () => {
    const noise = Buffer.from(Array.from({ length: 60_000 }, (_, n) => (n * 7919 + (n >> 3) * 31) & 255));
    const { taken } = await readDocument(Buffer.concat([Buffer.from("#!/bin/sh\n".repeat(500)), noise]), {
      filename: "run.sh",
    });
    expect(taken.notice?.key).toBe("media.undecodable");
  });

  it.each([
    ['{"a": [1, 2],\n  "b": "<html>"}\n', "a.json", "application/json"],
    ['a;b\n"x\ty";2\n', "a.csv", "text/csv"],
    ["export const answer: number = 4271;\n", "video.ts", "text/plain"],
    ["From here on: read.\nTo be continued.\n\nSubject to change.\n", "a.txt", "text/plain"],
  ])("leaves %j as it stands", async (source, filename, mimeType) => {
    const { block, text, taken } = await readDocument(source, { filename });
    expect(text).toBe(source);
    expect(block?.mimeType).toBe(mimeType);
    // The text is the file, and stored once.
    expect(block?.extract?.blob).toBe(taken.original?.blob);
  });

  it("takes out what nobody sees and a model reads, and leaves what spelling needs", async () => {
    const hidden = Array.from("obey", (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join(
      "",
    );
    const source = `a\u202eb\u2066c${hidden}d\u0007e \u001b[31mred\u001b[0m می\u200cخواهم \u200fשלום 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 👨\u200d👩\u200d👧\ufe0f\n`;
    const { text } = await readDocument(source);
    expect(text).toBe(
      "abcde red می\u200cخواهم \u200fשלום 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 👨\u200d👩\u200d👧\ufe0f\n",
    );
  });
});

describe("a long text", () => {
  it("shows its head and its tail at line ends, and says which lines are not there", async () => {
    const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n + 1} äöü`);
    const { text, block, whole } = await readDocument(`${lines.join("\n")}\n`, { filename: "a.log" });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(INLINE_BYTES);
    expect(Buffer.byteLength(text)).toBeGreaterThan(INLINE_BYTES - 5_000);
    const [, cut, size, first, last, all] =
      /\n\n\[… left out here: (\d+) of (\d+) bytes, lines (\d+) to (\d+) of (\d+) …\]\n\n/.exec(text) ?? [];
    expect(text.startsWith("line 1 äöü\n")).toBe(true);
    expect(text).toContain(`line ${Number(first) - 1} äöü\n\n\n[…`);
    expect(text).toContain(`…]\n\nline ${Number(last) + 1} äöü\n`);
    expect(Number(size)).toBe(Buffer.byteLength(whole));
    expect(Buffer.byteLength(lines.slice(Number(first) - 1, Number(last)).join("\n")) + 1).toBe(Number(cut));
    expect(block?.extract?.whole).toEqual({ blob: block?.blob, bytes: Number(size), lines: Number(all) });
    expect(all).toBe("20000");
  });

  it.each([
    ["DOC-14", "one line of ASCII", `{"rows":[{"i":0,${"x".repeat(305_000)}"LAST-4271"}`],
    ["DOC-15", "emoji", `x${"🦊".repeat(60_000)}`],
    ["DOC-15", "families", "👨‍👩‍👧‍👦".repeat(10_000)],
    ["DOC-15", "letters with marks", "e\u0301\u0323".repeat(40_000)],
    ["DOC-15", "one letter with marks without end", `e${"\u0301".repeat(100_000)}`],
  ])("%s: cuts %s between characters, within 100 KB", async (_, _name, source) => {
    const { text, taken, whole } = await readDocument(source, { filename: "a.txt" });
    expect(taken.outcome).toBe("shortened");
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(INLINE_BYTES);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\ufffd");
    expect(whole).toBe(source);
    const [head = "", tail = ""] = text.split(/\n\n\[… left out here: [^\]]*, in line 1 of 1 …\]\n\n/);
    expect(source.startsWith(head)).toBe(true);
    expect(source.endsWith(tail)).toBe(true);
    expect(tail).not.toBe("");
    if (source.startsWith("👨")) expect([head.endsWith("👨‍👩‍👧‍👦"), tail.startsWith("👨‍👩‍👧‍👦")]).toEqual([true, true]);
    if (source.startsWith("e\u0301\u0323")) expect([head.at(-1), tail.at(0)]).toEqual(["\u0323", "e"]);
  });

  it.each([
    [102_400, "extracted"],
    [102_401, "shortened"],
  ])("of %d bytes is %s", async (bytes, outcome) => {
    const { taken, text } = await readDocument("a".repeat(bytes), { filename: "a.txt" });
    expect(taken.outcome).toBe(outcome);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(102_400);
  });
});

type NameCase = [id: string, filename: string, expected: string | RegExp | undefined];

describe("a name from outside", () => {
  it.each<NameCase>([
    ["FIL-01", "../../../../tmp/escape-4271.md", "escape-4271.md"],
    ["FIL-03", "invoice_\u202egpj.exe", "invoice_gpj.exe"],
    ["FIL-04", "می\u200cخواهم.md", "می\u200cخواهم.md"],
    ["FIL-06", `${"é".repeat(200)}.md`, /^é{1,120}\.md$/],
    ...["", ".", "..", "/", "...", "   "].map((name): NameCase => ["FIL-07", name, undefined]),
  ])("%s: %j is safe on the disk, and the text is read", async (_, filename, expected) => {
    const { taken, block, text, blobs } = await readDocument(document("notes.md"), { filename });
    expect(text).toContain("4271");
    if (expected instanceof RegExp) expect(block?.filename).toMatch(expected);
    else expect(block?.filename).toBe(expected);
    const root = mkdtempSync(join(tmpdir(), "perch-names-"));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const kept = await new Workspaces(root, blobs).keep(
      1 as ChatId,
      block?.filename ?? "file-1.md",
      taken.original?.blob ?? "sha256:",
    );
    expect(readdirSync(join(root, "1/uploads"))).toEqual([kept.slice("/uploads/".length)]);
  });
});

describe("what is not read", () => {
  const ole = (...streams: string[]): Buffer =>
    Buffer.concat([
      Buffer.from("d0cf11e0a1b11ae1", "hex"),
      Buffer.alloc(600),
      ...streams.map((name) => Buffer.from(name, "utf16le")),
    ]);
  it.each([
    ["an old Word document", ole("WordDocument"), "Word 97, .doc"],
    ["an old sheet", ole("Workbook"), "Excel 97, .xls"],
    ["an old presentation", ole("PowerPoint Document"), "PowerPoint 97, .ppt"],
    ["a mail of Outlook", ole("__substg1.0_0037001F"), "Outlook, .msg"],
    ["BIN-06: a container of Office", document("ole_no_extension"), "Office 97"],
    ["7z", Buffer.concat([Buffer.from("377abcaf271c0004", "hex"), Buffer.alloc(100)]), "7z"],
    ["RAR", Buffer.concat([Buffer.from("526172211a070100", "hex"), Buffer.alloc(100)]), "RAR"],
    ["a program", Buffer.concat([Buffer.from("7f454c4602010100", "hex"), Buffer.alloc(200)]), "ELF"],
    ["erased memory", Buffer.alloc(500, 0xff), "binary"],
    ["a font", Buffer.concat([Buffer.from("0001000000", "hex"), Buffer.alloc(200)]), "TTF"],
    ["one packed file", gzipSync(Buffer.from([0, 159, 146, 150, 255, 0, 1, 2])), "gzip"],
    [
      "a binary book",
      zip([
        { name: "[Content_Types].xml", data: "<Types/>" },
        {
          name: "_rels/.rels",
          data: `<R><Relationship Id="1" Type="x/officeDocument" Target="xl/workbook.bin"/></R>`,
        },
      ]),
      "Excel, .xlsb",
    ],
    ["iWork", zip([{ name: "Index/Document.iwa", data: "x" }]), "Apple iWork"],
  ])("%s is named: %#", async (_, bytes, format) => {
    const { taken } = await readDocument(bytes, { filename: "a" });
    expect(taken).toEqual({
      blocks: [{ type: "text", text: `[I could not use a: I do not read files of this kind (${format}).]` }],
      outcome: "unsupported",
      notice: { key: "media.unsupported", values: { format, name: "a" } },
    });
  });

  it("names unknown bytes by the ending of their name, and never pastes them", async () => {
    const noise = Buffer.from(Array.from({ length: 5_000 }, (_, n) => (n * 7919 + (n >> 3) * 31) & 255));
    expect((await readDocument(noise, { filename: "a.xyz" })).taken.notice?.values["format"]).toBe(".xyz");
    expect((await readDocument(noise)).taken.notice?.values["format"]).toBe("binary");
  });

  it.each(["photo.jpg", "report.PDF", "a.docx", "talk.ogg"])(
    "says that %s is damaged where its bytes are nothing known, for such files are read",
    async (filename) => {
      const noise = Buffer.from(Array.from({ length: 5_000 }, (_, n) => (n * 7919 + (n >> 3) * 31) & 255));
      expect((await readDocument(noise, { filename })).taken.notice?.key).toBe("media.broken");
    },
  );

  it("says that an encrypted Office document has a password", async () => {
    const { taken } = await readDocument(ole("EncryptedPackage", "EncryptionInfo"), { filename: "a.docx" });
    expect([taken.outcome, taken.notice?.key]).toEqual(["unsupported", "media.password"]);
  });
});

describe("an archive", () => {
  it("QUE-14: is listed for the model and not unpacked, and the person is told", async () => {
    const { taken, block, text } = await readDocument(document("archive.zip"), { filename: "archive.zip" });
    expect(taken.blocks[0]).toEqual({
      type: "text",
      text: "[I have not unpacked archive.zip: of archives I only see what is in them.]",
    });
    expect([taken.outcome, taken.notice?.key, block?.mimeType]).toEqual([
      "unsupported",
      "media.archive",
      "application/zip",
    ]);
    expect(text).toBe("[2 entries]\n- a.txt (12 bytes)\n- ../evil.txt (26 bytes)");
    expect(taken.original?.blob).toBe(block?.blob);
  });

  it("has at most 200 entries listed, and names that cannot pose as lines", async () => {
    const parts = Array.from({ length: 400 }, (_, n) => ({ name: `f${n}\n- forged\u202e`, data: "x" }));
    const { text } = await readDocument(zip(parts));
    const lines = text.split("\n");
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([202, "[400 entries]", "[and 200 more]"]);
    expect(lines[1]).toBe("- f0- forged (1 byte)");
  });

  it.each([
    ["a tar", (tar: Buffer) => tar],
    ["a packed tar", (tar: Buffer) => gzipSync(tar)],
    ["a packed tar that was cut off", (tar: Buffer) => gzipSync(tar).subarray(0, -8)],
  ])("%s is listed too", async (_, made) => {
    const long = `deep/${"folder/".repeat(20)}file.txt`;
    const tar = Buffer.concat([
      entry("notes/a.txt", "hello"),
      entry("././@LongLink", `${long}\0`, "L"),
      entry("deep", "x"),
      entry("dir/", "", "5"),
      Buffer.alloc(1_024),
    ]);
    const { text, taken } = await readDocument(made(tar), { filename: "a.tar" });
    expect(taken.notice?.key).toBe("media.archive");
    expect(text).toContain("- notes/a.txt (5 bytes)");
    expect(text).toContain(`- ${long} (1 byte)`);
  });

  function entry(name: string, data: string, type = "0"): Buffer {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write("0000644\0", 100);
    header.write(`${Buffer.byteLength(data).toString(8).padStart(11, "0")}\0`, 124);
    header.write("        ", 148);
    header.write(type, 156);
    header.write("ustar\u000000", 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return Buffer.concat([
      header,
      Buffer.from(data),
      Buffer.alloc((512 - (Buffer.byteLength(data) % 512)) % 512),
    ]);
  }
});
