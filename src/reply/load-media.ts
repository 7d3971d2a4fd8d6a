import { constants, type Stats } from "node:fs";
import { lstat, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { GatewayError } from "../core/errors.ts";

/** Folders that an answer may send files from: the chat's own, then the agent's, which nobody writes to. */
export type MediaRoots = { readonly outputs: string; readonly assets?: string };

/**
 * Opens the file that a media reference of an answer names, if it has at most `maxBytes`, and hands its bytes to `take`.
 * The literal name wins over the percent-decoded one, and `outputs` over `assets`; a root may be named as the agent's
 * file tools show it, `/outputs/chart.png` or `outputs/chart.png`, and every other absolute path is refused. Links may
 * lead about within their root. The bytes come from the very file that was checked, also when something swaps folders
 * and links meanwhile.
 * @throws GatewayError "media.not_found", "media.outside_root", "media.not_regular" or "media.too_large"; the sentence
 * names the reference and never a folder of this machine. What `take` throws.
 */
export async function loadMedia<T>(
  reference: string,
  roots: MediaRoots,
  maxBytes: number,
  take: (chunks: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<{ readonly taken: T; readonly filename: string }> {
  const name = shown(reference);
  const readings = readingsOf(reference, name);
  for (const [rootName, root] of Object.entries(roots)) {
    const realRoot = await (rootName === "outputs" ? inItsPlace(root) : realpath(root).catch(absent));
    if (realRoot === undefined) continue;
    for (const path of pathsWithin(rootName, readings)) {
      const file = await openWithin(realRoot, path, name);
      if (file === undefined) continue;
      try {
        if (file.size > maxBytes) throw tooLarge(name, file.size, maxBytes);
        return { taken: await take(chunksOf(file)), filename: basename(shown(path)) };
      } finally {
        await file.handle.close();
      }
    }
  }
  throw new GatewayError(
    "media.not_found",
    `there is no file "${name}"; write it to the outputs folder first`,
  );
}

/** The root whose last part is no link: whoever works in the chat's folder could put one in the place of `outputs`. */
async function inItsPlace(root: string): Promise<string | undefined> {
  const parent = await realpath(dirname(root)).catch(absent);
  return parent === undefined ? undefined : join(parent, basename(root));
}

// Windows' separator counts too: a gateway there must refuse the same references.
const SEPARATOR = /[/\\]/;
/** What models that know another sandbox write before a path. */
const SANDBOX = /^sandbox:/i;
/** A root as the file tools name it, where its folder is all that they see of the disk. */
const NAMED_ROOT = /^(?:\.?\/)?(outputs|assets)\/+(?=.)/;

/** How a reference may be meant, likeliest first: as it is written, and percent-decoded. */
function readingsOf(reference: string, name: string): readonly string[] {
  const written = reference.replace(SANDBOX, "");
  const decoded = decode(written);
  const readings = decoded === written ? [written] : [written, decoded];
  for (const reading of readings) refuseEscape(reading, name);
  // A name is stored composed by one system and decomposed by another, and written either way by a model.
  return [...new Set(readings.flatMap((path) => [path, path.normalize("NFC"), path.normalize("NFD")]))];
}

/** The relative paths within a root, a literal one before one without the root's own name. */
function pathsWithin(rootName: string, readings: readonly string[]): readonly string[] {
  const literal = readings.filter((path) => !path.startsWith("/"));
  const named = readings.filter((path) => NAMED_ROOT.exec(path)?.[1] === rootName);
  return [...literal, ...named.map((path) => path.replace(NAMED_ROOT, ""))];
}

function decode(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference; // "100%.png" is a name, not an encoding
  }
}

function refuseEscape(path: string, name: string): void {
  const escapes =
    path.trim() === "" ||
    /\p{Cc}/u.test(path) ||
    (isWhole(path) && !NAMED_ROOT.test(path)) ||
    path.split(SEPARATOR).includes("..");
  if (escapes) throw outside(name);
}

/** Whether a path says by itself where it begins: an absolute one, a home, an address. */
function isWhole(path: string): boolean {
  return /^(?:[/\\~]|[a-z][a-z0-9+.-]*:)/i.test(path);
}

type OpenFile = { readonly handle: FileHandle; readonly size: number };

async function openWithin(realRoot: string, path: string, name: string): Promise<OpenFile | undefined> {
  const real = await realpath(join(realRoot, path)).catch(absent);
  if (real === undefined) return undefined;
  if (!isWithin(realRoot, real)) throw outside(name);
  const before = await lstat(real).catch(absent);
  if (before === undefined) return undefined;
  // Asked before opening as well: opening a device can move it.
  refuseIrregular(before, name);
  const handle = await openQuietly(real, name);
  if (handle === undefined) return undefined;
  try {
    const stats = await handle.stat();
    refuseIrregular(stats, name);
    const opened = await whereIs(handle, stats, join(realRoot, path));
    if (opened === undefined || !isWithin(realRoot, opened)) throw outside(name);
    return { handle, size: stats.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Never waits: a pipe without a writer would hold a thread of the pool for good. */
async function openQuietly(real: string, name: string): Promise<FileHandle | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return await open(real, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0) | (O_NOCTTY ?? 0));
  } catch (error) {
    const code = errno(error);
    if (code === "ELOOP") throw outside(name); // became a link since it was resolved
    if (code === "EACCES" || code === "EPERM") {
      const message = `"${name}" may not be read by the gateway; write it anew`;
      throw new GatewayError("media.not_found", message, { cause: error });
    }
    return absent(error);
  }
}

/** The path of what is open, asked of the handle: any path asked for by name may have been swapped since. */
async function whereIs(handle: FileHandle, stats: Stats, path: string): Promise<string | undefined> {
  if (process.platform === "linux") return readlink(`/proc/self/fd/${handle.fd}`);
  // Elsewhere the name is resolved once more and has to lead to the same file, with no link left on the way.
  const again = await realpath(path).catch(absent);
  const there = again === undefined ? undefined : await lstat(again).catch(absent);
  const same = there !== undefined && there.dev === stats.dev && there.ino === stats.ino;
  return same && again === (await realpath(path).catch(absent)) ? again : undefined;
}

function refuseIrregular(stats: Stats, name: string): void {
  if (!stats.isFile()) {
    const what = stats.isDirectory() ? "a folder" : "no regular file";
    throw new GatewayError("media.not_regular", `"${name}" is ${what}; name a file`);
  }
  if (stats.nlink > 1) {
    throw new GatewayError(
      "media.outside_root",
      `"${name}" has ${stats.nlink} hard links and may belong elsewhere; send a copy of it`,
    );
  }
}

const CHUNK_BYTES = 256 * 1024;

/** No more than was measured, so that a file that grows meanwhile keeps to the limit. */
async function* chunksOf({ handle, size }: OpenFile): AsyncIterable<Uint8Array> {
  let at = 0;
  while (at < size) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, size - at));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}

function tooLarge(name: string, size: number, maxBytes: number): GatewayError {
  const message = `"${name}" has ${size} bytes; at most ${maxBytes} can be sent, make it smaller`;
  return new GatewayError("media.too_large", message);
}

function isWithin(realRoot: string, real: string): boolean {
  return real === realRoot || real.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep);
}

function outside(name: string): GatewayError {
  return new GatewayError(
    "media.outside_root",
    `"${name}" is not within the outputs folder; write the file there and name it by its relative path`,
  );
}

/** The reference as it may be shown: of an absolute one the last part only, nothing that turns or hides text. */
function shown(reference: string): string {
  const parts = reference.split(SEPARATOR).filter((part) => part !== "");
  const name = isWhole(decode(reference)) ? (parts.at(-1) ?? reference) : reference;
  return name.replaceAll(/[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "").slice(0, 200);
}

/**
 * What cannot be there by its name (a file as a folder, a name that is too long, a ring of links) is not there; what
 * cannot be looked at, in a folder that is closed to us, is as good as that.
 */
function absent(error: unknown): undefined {
  if (errno(error) === undefined) throw error;
  return undefined;
}

function errno(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
