import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { sniff } from "../../src/media/sniff.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
const HEAD_BYTES = 4_100;

const typeOf = async (
  bytes: Uint8Array | string,
  hint: { readonly filename?: string; readonly mimeType?: string } = {},
): Promise<string> => {
  const whole = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
  const { mimeType, kind } = await sniff(whole.subarray(0, HEAD_BYTES), { ...hint, bytes: whole.length });
  const family = mimeType.split("/")[0];
  expect(kind).toBe(family === "image" || family === "audio" || family === "video" ? family : "file");
  return mimeType;
};

const utf16be = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();
const utf32le = (text: string): Buffer =>
  Buffer.concat(
    Array.from(text, (character) => {
      const unit = Buffer.alloc(4);
      unit.writeUInt32LE(character.codePointAt(0) ?? 0);
      return unit;
    }),
  );

describe("what files are, whatever they are called", () => {
  it.each([
    ["jpeg_bytes_named.png", "image/png", "image/jpeg"],
    ["images/static.webp", "image/jpeg", "image/webp"],
    ["images/avif_bytes_named.heic", "image/heic", "image/avif"],
    ["images/photo.heic", "application/octet-stream", "image/heic"],
    ["images/two_pages.tiff", "image/jpeg", "image/tiff"],
    ["images/favicon.ico", "image/png", "image/x-icon"],
    ["images/huge_viewbox.svg", "image/jpeg", "image/svg+xml"],
    ["script.svg", "image/jpeg", "image/svg+xml"],
    ["html_error_page.jpg", "image/jpeg", "text/html"],
    ["voice_known.ogg", "audio/mpeg", "audio/ogg"],
    ["voice_known.webm", "video/webm", "audio/webm"],
    ["audio/voice_known.m4a", "audio/x-m4a", "audio/mp4"],
    ["audio/voice_known.mp3", "application/octet-stream", "audio/mpeg"],
    ["audio/voice_known.wav", "application/octet-stream", "audio/wav"],
    ["audio/zero_seconds.ogg", "audio/ogg", "audio/ogg"],
    ["video/clip_with_audio.mp4", "audio/mp4", "video/mp4"],
    ["video/sticker.tgs", "application/gzip", "application/x-tgsticker"],
    ["docs/ole_no_extension", "", "application/x-cfb"],
    ["two_pages.pdf", "image/png", "application/pdf"],
    [
      "brief.docx",
      "application/octet-stream",
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ],
    ["docs/table.xlsx", "text/csv", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
    ["docs/archive.zip", "", "application/zip"],
    ["docs/multibyte_at_4096.bin", "application/octet-stream", "text/plain"],
    ["docs/mixed_invalid_utf8.log", "", "text/plain"],
    ["docs/shift_jis.txt", "", "text/plain"],
    ["windows1252.txt", "audio/mpeg", "text/plain"],
    ["docs/utf32le_bom.txt", "", "text/plain"],
  ])("%s declared as %j: %s", async (name, mimeType, type) => {
    const bytes = await readFile(join(FIXTURES, name));
    expect(await typeOf(bytes, { mimeType })).toBe(type);
  });
});

describe("text that looks like something else", () => {
  it.each([
    [
      "UTF-16 with a mark, which is an MPEG sync word too",
      Buffer.from("\ufeffa;b\n1;2\n3;4\n", "utf16le"),
      "text/csv",
    ],
    ["a mark alone", Buffer.from([0xff, 0xfe]), "text/plain"],
    ["UTF-16 the other way round", utf16be("\ufeffŠkofja Loka, 李雷"), "text/plain"],
    ["UTF-16 without a mark", Buffer.from("plain words, no mark", "utf16le"), "text/plain"],
    ["UTF-16 without a mark, the other way round", utf16be("plain words, no mark"), "text/plain"],
    ["UTF-32", utf32le("\ufeffété 4271"), "text/plain"],
    ["BMW in an old code page", Buffer.from("BMW f\xe4hrt vor", "latin1"), "text/plain"],
    ["MZ at the beginning of a name", "MZ Berlin\n", "text/plain"],
    ["a word that QuickTime begins with", "For free pizza\n", "text/plain"],
    ["a log with stray NULs", "line one\0\nline two\0\nline three\n", "text/plain"],
    ["a log with colours", "\u001b[31mred\u001b[0m\n", "text/plain"],
    [
      "legacy Cyrillic",
      Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x2c, 0x20, 0xec, 0xe8, 0xf0]),
      "text/plain",
    ],
    ["letters with accents that begin like MPEG", Buffer.from("\xff\xfb\xe9t\xe9", "latin1"), "text/plain"],
  ])("%s", async (_what, bytes, type) => expect(await typeOf(bytes)).toBe(type));
});

describe("kinds of text", () => {
  it.each([
    [
      "an SVG behind a prolog",
      '<?xml version="1.0"?>\n<!-- a -->\n<!DOCTYPE svg [<!ENTITY a "b">]>\n<svg>',
      "image/svg+xml",
    ],
    ["an SVG under a prefix", '<s:svg xmlns:s="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    ["an SVG in UTF-16", Buffer.from("\ufeff<svg></svg>", "utf16le"), "image/svg+xml"],
    ["HTML", "\n<!DOCTYPE html>\n<title>x", "text/html"],
    ["HTML behind a comment", "<!-- saved --><html lang=en>", "text/html"],
    ["a page that writes about SVG", "<html><svg></svg></html>", "text/html"],
    ["a contact", "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada\r\nEND:VCARD\r\n", "text/vcard"],
    ["an appointment", "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR", "text/calendar"],
    [
      "a letter",
      "From: Ada <a@example.org>\r\nSubject: Hi\r\nX-Long: a\r\n  b\r\n\r\nHello",
      "message/rfc822",
    ],
    ["a note that begins like a letter", "From: the desk of Ada\nwho writes: hello", "text/plain"],
    ["rich text", "{\\rtf1\\ansi hello}", "application/rtf"],
    ["JSON", '{"a": [1, 2]}', "application/json"],
    ["JSON that is cut by the head", `[{"a": "${"x".repeat(9_000)}"}]`, "application/json"],
    ["words in brackets", "[see below] and so on", "text/plain"],
    ["a table", 'name,age\nAda,36\n"Grace, H.",85\n', "text/csv"],
    ["prose with commas", "First, this.\nSecond, that, and more.\n", "text/plain"],
  ])("%s", async (_what, bytes, type) => expect(await typeOf(bytes)).toBe(type));

  it.each([
    ["+page.svelte", "<script>\nlet n = 4271;\n</script>", "text/plain"],
    ["video.ts", "export const answer = 4271;", "text/plain"],
    ["notes.md", "# Notes", "text/markdown"],
    ["table.csv", "one", "text/csv"],
    ["a.json", "{", "application/json"],
    ["fragment.html", "<p>hi</p>", "text/html"],
    ["main.rs", "fn main() {}", "text/plain"],
    ["contact.vcf", "no contact", "text/plain"],
    ["letter.eml", "X-Odd: only this\n\nhello", "message/rfc822"],
    ["photo.jpg", "not a photo", "text/plain"],
  ])("%s is known by its name", async (filename, text, type) => {
    expect(await typeOf(text, { filename })).toBe(type);
  });
});

describe("containers", () => {
  const ftyp = (...brands: string[]): Buffer => {
    const box = Buffer.from(`\0\0\0\0ftyp${brands[0]}\0\0\0\0${brands.slice(1).join("")}`, "latin1");
    box.writeUInt32BE(box.length);
    return Buffer.concat([box, Buffer.alloc(64)]);
  };
  const hdlr = (kind: string): Buffer =>
    Buffer.from(`\0\0\0\x20hdlr\0\0\0\0\0\0\0\0${kind}\0\0\0\0`, "latin1");
  const mkv = (doc: string, codec: string): Buffer =>
    Buffer.from(
      `\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x1f\x42\x82\x84${doc}${"\0".repeat(80)}\x86\x85${codec}`,
      "latin1",
    );

  it.each([
    ["AVIF under the general brand", ftyp("mif1", "mif1", "avif", "miaf"), {}, "image/avif"],
    ["HEIC under the general brand", ftyp("mif1", "mif1", "heic"), {}, "image/heic"],
    ["a burst of HEIC", ftyp("hevc", "msf1", "heic"), {}, "image/heic"],
    ["a camera's raw picture", ftyp("crx "), {}, "image/x-canon-cr3"],
    ["iTunes sound", ftyp("M4A ", "mp42"), { mimeType: "video/mp4" }, "audio/mp4"],
    [
      "a film that says it is sound",
      Buffer.concat([ftyp("isom"), hdlr("vide"), hdlr("soun")]),
      { mimeType: "audio/mp4" },
      "video/mp4",
    ],
    ["sound in a film's container", Buffer.concat([ftyp("isom"), hdlr("soun")]), {}, "audio/mp4"],
    ["what only its name tells", ftyp("mp42"), { filename: "Memo.m4a" }, "audio/mp4"],
    ["a phone's recording", ftyp("3gp4"), { mimeType: "audio/3gpp" }, "audio/3gpp"],
    ["QuickTime", ftyp("qt  "), {}, "video/quicktime"],
    ["WebM with sound alone", mkv("webm", "A_OPUS"), { mimeType: "video/webm" }, "audio/webm"],
    ["WebM with a film", mkv("webm", "V_VP9"), { mimeType: "audio/webm" }, "video/webm"],
    ["Matroska with a film", mkv("matroska", "V_MPEG4/ISO/AVC"), {}, "video/x-matroska"],
    ["Ogg with a film", Buffer.from("OggS\0\x02aaaaaaaaaaaaaaaaaaaaa\x80theora", "latin1"), {}, "video/ogg"],
    ["a voice of old phones", Buffer.from("#!AMR\n\x3c\x08", "latin1"), {}, "audio/amr"],
    ["notes to be played", Buffer.from("MThd\0\0\0\x06\0\0\0\x01\0\x60MTrk", "latin1"), {}, "audio/midi"],
    [
      "a program",
      Buffer.from("MZ\x90\0\x03\0\0\0\x04\0", "latin1"),
      { filename: "photo.jpg" },
      "application/x-msdownload",
    ],
    [
      "gzip that is no sticker",
      gzipSync("hello"),
      { mimeType: "application/x-tgsticker" },
      "application/gzip",
    ],
    [
      "a sticker with another maker",
      gzipSync('{"v":"5.7","fr":60,"ip":0,"op":180,"layers":[]}'),
      {},
      "application/x-tgsticker",
    ],
    [
      "half a sync word",
      Buffer.from([0xff, 0xfb, 0x90, 0x00, ...Buffer.alloc(1_000, 7)]),
      {},
      "application/octet-stream",
    ],
    ["noise", Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 1, 2, 3]), {}, "application/octet-stream"],
    [
      "an empty ZIP",
      Buffer.from(`PK\x05\x06${"\0".repeat(18)}`, "latin1"),
      { filename: "a.docx" },
      "application/zip",
    ],
  ])("%s", async (_what, bytes, hint, type) => {
    expect(await typeOf(bytes, hint)).toBe(type);
  });

  it("knows a PNG whose picture begins behind the head", async () => {
    const png = await sharp(await readFile(join(FIXTURES, "red64.png")))
      .withMetadata()
      .png()
      .toBuffer();
    const text = Buffer.alloc(9_012, 0x61);
    text.writeUInt32BE(9_000);
    text.write("tEXt", 4);
    expect(await typeOf(Buffer.concat([png.subarray(0, 33), text, png.subarray(33)]))).toBe("image/png");
  });
});
