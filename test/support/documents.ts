import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { onTestFinished } from "vitest";
import type { MediaBlock, Unfetched } from "../../src/core/blocks.ts";
import type { MediaLimits } from "../../src/media/limits.ts";
import { takeIn } from "../../src/media/take-in.ts";
import type { Taken } from "../../src/media/taken.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { MEDIA_LIMITS, reading } from "./media.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");

export type ReadDocument = {
  readonly taken: Taken;
  /** The block of media; undefined where there is none. */
  readonly block: MediaBlock | undefined;
  /** What is put before the model. */
  readonly text: string;
  /** All of it. */
  readonly whole: string;
  readonly blobs: FileBlobs;
};

/** Takes a document in as it comes from a channel: sniffed, read, its text looked up. */
export async function readDocument(
  source: string | Uint8Array,
  declared: Unfetched["declared"] & { readonly sees?: boolean; readonly limits?: Partial<MediaLimits> } = {},
): Promise<ReadDocument> {
  const folder = mkdtempSync(join(tmpdir(), "perch-documents-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const blobs = new FileBlobs(folder);
  const { sees = true, limits, ...said } = declared;
  const bytes = typeof source === "string" ? Buffer.from(source) : source;
  const taken = await takeIn(
    { type: "unfetched", kind: "file", ref: "r", declared: said },
    reading(blobs, {
      open: async () => once(bytes),
      limits: { ...MEDIA_LIMITS, ...limits },
      senses: { images: sees, pdf: sees, audio: false },
    }),
    new AbortController().signal,
  );
  const block = taken.blocks.find((found): found is MediaBlock => found.type !== "text");
  const shown = block?.extract;
  const textOf = async (ref: NonNullable<typeof shown>["blob"]): Promise<string> =>
    new TextDecoder("utf-8", { fatal: true }).decode(await blobs.read(ref));
  const text = shown === undefined ? "" : await textOf(shown.blob);
  const whole = shown?.whole === undefined ? text : await textOf(shown.whole.blob);
  return { taken, block, text, whole, blobs };
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** A file of the collection, by its name. */
export function document(name: string): Buffer {
  for (const folder of ["docs", ""]) {
    try {
      return readFileSync(join(FIXTURES, folder, basename(name)));
    } catch {
      // in the other folder
    }
  }
  throw new Error(`test/fixtures/media has no ${name}`);
}

/** Text in a legacy encoding: what TextDecoder reads of one or two bytes, the other way round. */
export function encoded(text: string, label: string): Buffer {
  const bytesOf = tables.get(label) ?? tableOf(label);
  tables.set(label, bytesOf);
  return Buffer.from(
    Array.from(text).flatMap((character) => {
      const bytes = bytesOf.get(character);
      if (bytes === undefined) throw new Error(`${label} has no ${character}`);
      return bytes;
    }),
  );
}

const tables = new Map<string, ReadonlyMap<string, readonly number[]>>();
// Node 20 reads these as controls.
const WINDOWS_1252: readonly (readonly [string, number])[] = [
  ["€", 0x80],
  ["„", 0x84],
  ["“", 0x93],
  ["–", 0x96],
];

function tableOf(label: string): ReadonlyMap<string, readonly number[]> {
  const decoder = new TextDecoder(label);
  const table = new Map<string, readonly number[]>();
  const enter = (...bytes: number[]): void => {
    const text = decoder.decode(Uint8Array.from(bytes));
    if (Array.from(text).length === 1 && !text.includes("\ufffd") && !table.has(text)) table.set(text, bytes);
  };
  for (let first = 0; first < 256; first += 1) enter(first);
  if (/^(shift_jis|euc-|gb|big5)/.test(label))
    for (let first = 0x81; first < 256; first += 1)
      for (let second = 0x40; second < 256; second += 1) enter(first, second);
  if (label === "windows-1252") for (const [character, byte] of WINDOWS_1252) table.set(character, [byte]);
  return table;
}
