import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import sharp from "sharp";
import { repeatedOgg } from "./long-voice.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");

const paths = new Map(
  readdirSync(FIXTURES, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => [entry.name, join(entry.parentPath, entry.name)]),
);

/** Files of the collection that are others under a name that says something else. */
const SAME_BYTES: Readonly<Record<string, string>> = {
  "jpeg_bytes_named.png": "photo.jpg",
  "webp_bytes_named.jpg": "static.webp",
  "svg_bytes_named.jpg": "script.svg",
  docx_no_extension: "brief.docx",
  pdf_no_extension: "two_pages.pdf",
  "xlsx_bytes_named.csv": "table.xlsx",
  multibyte_at_4096_noext: "multibyte_at_4096.bin",
  "PTT-20240101-WA0001.opus": "voice_known.ogg",
  no_extension_opus: "voice_known.ogg",
  "ogg_bytes_named.mp3": "voice_known.ogg",
  "voice_known.oga": "voice_known.ogg",
  // TypeScript, which the compiler must not take for a part of the project.
  "video.ts": "source-of-video.txt",
};

/** Files too large to be kept, made with the properties that their cases are about. */
const MADE: Readonly<Record<string, () => Promise<Buffer>>> = {
  "noise_5_5MB.jpg": () => noise(3_000, 2_200),
  "noise_4_5MB.jpg": () => noise(2_700, 2_000),
  // A cut at 100,000 or at 102,400, of bytes or of UTF-16 units, falls into a fox.
  "emoji_cut.txt": async () => Buffer.from(`x${"🦊".repeat(60_000)}`),
  // 30 minutes of the known voice, as pages of one stream.
  "voice_30min.ogg": async () => repeatedOgg(readFileSync(pathOf("voice_known.ogg")), 30 * 60),
};

/** The bytes of a file of the collection, by its path there. */
export async function caseFile(path: string): Promise<Buffer> {
  const name = basename(path);
  return (await MADE[name]?.()) ?? readFileSync(pathOf(SAME_BYTES[name] ?? name));
}

function pathOf(name: string): string {
  const path = paths.get(name);
  if (path === undefined) throw new Error(`test/fixtures/media has no ${name}`);
  return path;
}

/** A picture that hardly compresses: some 5.5 MB as a JPEG. */
async function noise(width: number, height: number): Promise<Buffer> {
  const pixels = Buffer.alloc(width * height * 3);
  let state = 1;
  for (let at = 0; at < pixels.length; at += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648; // the C library's; a sequence of its own is enough
    pixels[at] = state >>> 16;
  }
  return await sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 90 })
    .toBuffer();
}
