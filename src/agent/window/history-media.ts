import { open, rename, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Blobs } from "../../core/agent.ts";
import type { BlobRef, ContentBlock, MediaBlock } from "../../core/blocks.ts";
import { oneLine } from "../../core/words.ts";
import { readIfThere } from "../harness/medium.ts";
import { nameOf } from "../words.ts";
import { withoutBytes } from "./entries.ts";

/**
 * Copies the media of a message into a history's folder, named by what they are, and gives the lines that tell where they
 * are: a link each, and what was said in it. What is no longer there is said to be gone.
 */
export async function keepMedia(
  content: readonly ContentBlock[],
  folder: string,
  blobs: Blobs,
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const block of content)
    if (block.type !== "text") lines.push(...(await keepOne(block, folder, blobs)));
  return lines;
}

async function keepOne(medium: MediaBlock, folder: string, blobs: Blobs): Promise<readonly string[]> {
  const { blob, mimeType, filename, extract } = medium;
  const name = oneLine(nameOf(medium)).replaceAll(/[[\]\\]/g, "");
  const kept = await keepFile(blob, extensionOf(filename, mimeType), folder, blobs);
  const lines = [kept === undefined ? `- ${name} (no longer available)` : `- [${name}](media/${kept})`];
  if (extract === undefined) return lines;
  if (extract.as === "text") {
    const text = await keepFile((extract.whole ?? extract).blob, ".txt", folder, blobs);
    return text === undefined ? lines : [...lines, `- [the text of ${name}](media/${text})`];
  }
  const said = await readIfThere(blobs, (extract.whole ?? extract).blob);
  if (said === undefined) return lines;
  const words = withoutBytes(Buffer.from(said).toString("utf8"));
  return [...lines, `What was said in ${name}:`, ...words.split("\n").map((line) => `> ${line}`)];
}

/** The name of the copy; undefined when the bytes are gone. */
async function keepFile(
  blob: BlobRef,
  extension: string,
  folder: string,
  blobs: Blobs,
): Promise<string | undefined> {
  const name = `${blob.slice("sha256:".length)}${extension}`;
  const path = join(folder, name);
  if (await isThere(path)) return name;
  const bytes = await readIfThere(blobs, blob);
  if (bytes === undefined) return undefined;
  // Whole or not at all: what a crash leaves under the other name is written over.
  const handle = await open(`${path}.part`, "w", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.part`, path);
  return name;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/jpeg": ".jpg",
  "audio/mpeg": ".mp3",
  "text/plain": ".txt",
  "text/markdown": ".md",
};

function extensionOf(filename: string | undefined, mimeType: string): string {
  const own = extname(filename ?? "").toLowerCase();
  if (/^\.[a-z\d]{1,8}$/.test(own)) return own;
  const known = EXTENSIONS[mimeType];
  if (known !== undefined) return known;
  const subtype = /\/([a-z\d]{1,8})$/.exec(mimeType)?.[1];
  return subtype === undefined ? "" : `.${subtype}`;
}

async function isThere(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true;
}
