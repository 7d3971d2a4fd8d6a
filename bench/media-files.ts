import { readFileSync } from "node:fs";
import { copyFile, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import type { MediaKind, Unfetched } from "../src/core/blocks.ts";
import { repeatedOgg } from "../test/cases/long-voice.ts";
import { random } from "../test/reply/documents.ts";
import { pdf } from "../test/support/pdf.ts";

// dist/bench/bench is where this file runs.
const FIXTURES = join(import.meta.dirname, "../../../test/fixtures/media");

/** Something that people send, and a small one of its kind, which makes a process ready for it. */
export type Sent = {
  readonly what: string;
  readonly unfetched: Unfetched;
  readonly small: Unfetched;
  /** Whether ffmpeg may be used; the ways are compared. */
  readonly ffmpeg: boolean;
};

export type SentSizes = {
  readonly photo: { readonly width: number; readonly height: number };
  readonly pdfPages: number;
  readonly textBytes: number;
  readonly voiceSeconds: number;
};

/** Makes the files in a folder. */
export async function makeMedia(folder: string, sizes: SentSizes): Promise<readonly Sent[]> {
  await mkdir(folder, { recursive: true });
  const file = (name: string): string => join(folder, name);
  await writeFile(file("photo.jpg"), await photo(sizes.photo));
  await copyFile(join(FIXTURES, "images/photo.heic"), file("photo.heic"));
  await writeFile(file("book.pdf"), book(sizes.pdfPages));
  const text = prose(sizes.textBytes);
  await writeFile(file("utf8.txt"), text, "utf8");
  await writeFile(file("windows1252.txt"), text, "latin1"); // its letters are the same in both
  const voice = repeatedOgg(readFileSync(join(FIXTURES, "voice_known.ogg")), sizes.voiceSeconds);
  await writeFile(file("voice.ogg"), voice);

  const sent = async (
    what: string,
    kind: MediaKind,
    name: string,
    small: string,
    ffmpeg = false,
  ): Promise<Sent> => {
    const { size } = await stat(file(name));
    const announced = (path: string): Unfetched => ({ type: "unfetched", kind, ref: path, declared: {} });
    const unfetched = announced(file(name));
    return {
      what: `${what}, ${(size / 1e6).toFixed(size < 1e5 ? 3 : 1)} MB`,
      unfetched,
      small: announced(join(FIXTURES, small)),
      ffmpeg,
    };
  };
  const megapixels = Math.round((sizes.photo.width * sizes.photo.height) / 1e6);
  const minutes = Math.round(sizes.voiceSeconds / 60);
  return [
    await sent(`photo of ${megapixels} MP to be turned`, "image", "photo.jpg", "exif6.jpg"),
    await sent("HEIC of 0.3 MP", "image", "photo.heic", "images/photo.heic"),
    await sent(`PDF of ${sizes.pdfPages} pages`, "file", "book.pdf", "two_pages.pdf"),
    await sent("text in UTF-8", "file", "utf8.txt", "notes.md"),
    await sent("text in Windows-1252", "file", "windows1252.txt", "windows1252.txt"),
    await sent(`voice of ${minutes} min`, "audio", "voice.ogg", "voice_known.ogg"),
    await sent(`voice of ${minutes} min, ffmpeg`, "audio", "voice.ogg", "voice_known.ogg", true),
  ];
}

/** Soft colours under the noise of a sensor, lying on its side as phones keep it. */
async function photo({ width, height }: SentSizes["photo"]): Promise<Buffer> {
  const pixels = Buffer.alloc(width * height * 3);
  const next = random(1);
  for (let at = 0, y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const noise = (next() - 0.5) * 16;
      pixels[at] = 60 + (150 * x) / width + noise;
      pixels[at + 1] = 60 + (150 * y) / height + noise;
      pixels[at + 2] = 120 + 60 * Math.sin(x / 90) * Math.cos(y / 70) + noise;
      at += 3;
    }
  }
  return await sharp(pixels, { raw: { width, height, channels: 3 } })
    .withMetadata({ orientation: 6 })
    .jpeg({ quality: 88 })
    .toBuffer();
}

const LINES_A_PAGE = 38;

function book(pages: number): Buffer {
  const next = random(2);
  return pdf(
    Array.from({ length: pages }, () => ({
      lines: Array.from({ length: LINES_A_PAGE }, () => line(next, ENGLISH, 11)),
    })),
  );
}

/** German, whose letters show in which encoding a text is. */
function prose(bytes: number): string {
  const next = random(3);
  const lines: string[] = [];
  for (let length = 0; length < bytes; length += (lines.at(-1)?.length ?? 0) + 1) {
    lines.push(line(next, GERMAN, 14));
  }
  return lines.join("\n");
}

function line(next: () => number, words: readonly string[], count: number): string {
  return Array.from({ length: count }, () => words[Math.floor(next() * words.length)]).join(" ");
}

const ENGLISH = "the river runs below its bank and a kingfisher waits until small fish come near".split(" ");
const GERMAN =
  "über dem Fluß wartet ein Eisvogel, bis die Fische näher schwimmen; früh am Tag für Größe".split(" ");
