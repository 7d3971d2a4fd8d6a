import type { FileHandle } from "node:fs/promises";

/** Lines that are longer are given as several rows: a file of one endless line can be read on in too. */
const ROW_CHARACTERS = 2_000;

const CHUNK_BYTES = 65_536;

/**
 * A text file's rows, in UTF-8, without their line feeds; an empty file has none. One `undefined` ends the rows where
 * what comes is no text. At most a chunk and a row are held at once.
 */
export async function* rowsOf(handle: FileHandle): AsyncGenerator<string | undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const chunk = new Uint8Array(CHUNK_BYTES);
  let rest = "";
  for (;;) {
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, null);
    try {
      rest += decoder.decode(chunk.subarray(0, bytesRead), { stream: bytesRead > 0 });
    } catch {
      return yield undefined;
    }
    if (rest.includes("\0")) return yield undefined;
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield* folded(line);
    const [last = "", ...full] = [...folded(rest)].toReversed();
    yield* full.toReversed();
    rest = last;
    if (bytesRead === 0) break;
  }
  if (rest !== "") yield rest;
}

function* folded(line: string): Generator<string> {
  let from = 0;
  while (line.length - from > ROW_CHARACTERS) {
    // A character of two units stays whole.
    const end = from + ROW_CHARACTERS;
    const cut = /[\ud800-\udbff]/.test(line.charAt(end - 1)) ? end - 1 : end;
    yield line.slice(from, cut);
    from = cut;
  }
  yield line.slice(from);
}
