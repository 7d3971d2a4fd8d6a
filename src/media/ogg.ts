import { open } from "node:fs/promises";

const HEADER_BYTES = 27; // RFC 3533 §6
const CHUNK_BYTES = 64 * 1024;

/** A page of an Ogg file, whole; the last is undefined where the file ends in the middle of a page. */
export type OggPage = Uint8Array | "cut off";

/** The pages of an Ogg file in order, without what lies between them; at most a page and a chunk are in memory. */
export async function* oggPages(path: string): AsyncGenerator<OggPage> {
  const file = await open(path);
  try {
    let kept = Buffer.alloc(0);
    let ended = false;
    for (;;) {
      const page = pageIn(kept);
      if (typeof page === "object") {
        yield kept.subarray(page.from, page.to);
        kept = kept.subarray(page.to);
        continue;
      }
      if (ended) {
        if (page === "begun") yield "cut off";
        return;
      }
      const chunk = Buffer.alloc(CHUNK_BYTES);
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES);
      ended = bytesRead === 0;
      // What is no page is dropped, but for what may be the beginning of its mark.
      const before = page === "none" ? kept.subarray(Math.max(0, kept.length - 3)) : kept;
      kept = Buffer.concat([before, chunk.subarray(0, bytesRead)]);
    }
  } finally {
    await file.close();
  }
}

function pageIn(bytes: Buffer): { readonly from: number; readonly to: number } | "begun" | "none" {
  const from = bytes.indexOf("OggS");
  if (from < 0) return "none";
  const segments = bytes[from + HEADER_BYTES - 1];
  if (segments === undefined) return "begun";
  const table = bytes.subarray(from + HEADER_BYTES, from + HEADER_BYTES + segments);
  if (table.length < segments) return "begun";
  const to = table.reduce((end, length) => end + length, from + HEADER_BYTES + segments);
  return to > bytes.length ? "begun" : { from, to };
}
