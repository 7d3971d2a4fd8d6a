import type { Entry, ZipFile } from "yauzl";

/** Entries of a zip that are looked at; a document has some hundreds. */
const MOST_ENTRIES = 10_000;
/** One part of a document, unpacked: a sheet with a million cells has 50 MB. */
export const PART_BYTES = 64_000_000;
/** All parts together. */
const WHOLE_BYTES = 200_000_000;

export type ZipEntry = { readonly name: string; readonly bytes: number; readonly folder: boolean };

/**
 * A zip in memory, read by its central directory. What is unpacked is counted as it comes, whatever the headers say;
 * what goes over a bound or does not unpack ends there, and `incomplete` says so.
 */
export class Zip {
  readonly #file: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  #unpackedBytes = 0;
  /** How many entries there are, looked at or not. */
  readonly count: number;
  incomplete: "too large" | "damaged" | undefined;

  /** @throws whatever yauzl says of a directory that does not read. */
  static async open(bytes: Uint8Array): Promise<Zip> {
    const { fromBufferPromise, getFileNameLowLevel } = await import("yauzl");
    // A view, not a copy. Names are decoded here, since yauzl gives the whole zip up for one that leads outside; and
    // sizes are counted here, so that a lying header cuts a part off and does not end the reading.
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const file = await fromBufferPromise(buffer, { decodeStrings: false, validateEntrySizes: false });
    const entries = new Map<string, Entry>();
    let damaged = false;
    try {
      for await (const entry of file.eachEntry()) {
        const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
        const name = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false);
        if (!entries.has(name)) entries.set(name, entry);
        if (entries.size >= MOST_ENTRIES) break;
      }
    } catch (error) {
      if (entries.size === 0) throw error;
      damaged = true;
    }
    return new Zip(file, entries, damaged);
  }

  private constructor(file: ZipFile, entries: ReadonlyMap<string, Entry>, damaged: boolean) {
    this.#file = file;
    this.#entries = entries;
    this.count = Math.max(file.entryCount, entries.size);
    if (damaged) this.incomplete = "damaged";
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  get entries(): readonly ZipEntry[] {
    return [...this.#entries].map(([name, { uncompressedSize }]) => ({
      name,
      bytes: uncompressedSize,
      folder: name.endsWith("/"),
    }));
  }

  /** The bytes of a part; none where it is not there. */
  async *part(name: string): AsyncIterable<Uint8Array> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    let bytes = 0;
    try {
      const stream = await this.#file.openReadStreamPromise(entry);
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        // no encoding is set, so chunks are buffers
        bytes += chunk.length;
        this.#unpackedBytes += chunk.length;
        if (bytes > PART_BYTES || this.#unpackedBytes > WHOLE_BYTES) {
          this.incomplete = "too large";
          return;
        }
        yield chunk;
      }
    } catch {
      this.incomplete ??= "damaged";
    }
  }

  /** A part as UTF-8; its first 8 MB where it has more. */
  async text(name: string): Promise<string> {
    return new TextDecoder().decode(await this.bytes(name, 8_000_000));
  }

  async bytes(name: string, atMost = PART_BYTES): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of this.part(name)) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > atMost) break;
    }
    return Buffer.concat(chunks).subarray(0, atMost);
  }
}

/** A path in a package, from the folder of another part: "../media/a.png" in "ppt/slides/". */
export function resolvePart(folder: string, target: string): string {
  const path: string[] = target.startsWith("/") ? [] : folder.split("/").filter((step) => step !== "");
  for (const step of target.split("/")) {
    if (step === "..") path.pop();
    else if (step !== "" && step !== ".") path.push(step);
  }
  return path.join("/");
}
