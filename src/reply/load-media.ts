import { constants, type Stats } from "node:fs";
import { lstat, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { GatewayError } from "../core/errors.ts";

/** Folders that an answer may send files from: the chat's own, then the agent's, which nobody writes to. */
export type MediaRoots = { readonly outputs: string; readonly assets?: string };

/**
 * Reads the file that a media reference of an answer names, at most `maxBytes` of it.
 * The literal name wins over the percent-decoded one, `outputs` over `assets`. Links may lead about within their root.
 * The bytes come from the very file that was checked, also when something swaps folders and links meanwhile.
 * @throws GatewayError "media.not_found", "media.outside_root", "media.not_regular" or "media.too_large"; the sentence
 * names the reference and never a folder of this machine.
 */
export async function loadMedia(
  reference: string,
  roots: MediaRoots,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly filename: string }> {
  const name = shown(reference);
  const paths = spellings(reference, name);
  for (const root of [roots.outputs, ...(roots.assets === undefined ? [] : [roots.assets])]) {
    const realRoot = await realpath(root).catch(absent);
    if (realRoot === undefined) continue;
    for (const path of paths) {
      const file = await openWithin(realRoot, path, name);
      if (file === undefined) continue;
      try {
        const bytes = await readAll(file.handle, file.size, name, maxBytes);
        return { bytes, filename: basename(shown(path)) };
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

// Windows' separator counts too: a gateway there must refuse the same references.
const SEPARATOR = /[/\\]/;

/** The relative paths that a reference may mean, likeliest first. */
function spellings(reference: string, name: string): readonly string[] {
  const decoded = decode(reference);
  const readings = decoded === reference ? [reference] : [reference, decoded];
  for (const reading of readings) refuseEscape(reading, name);
  // A name is stored composed by one system and decomposed by another, and written either way by a model.
  return [...new Set(readings.flatMap((path) => [path, path.normalize("NFC"), path.normalize("NFD")]))];
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
    /^(?:[/\\~]|[a-z][a-z0-9+.-]*:)/i.test(path) ||
    path.split(SEPARATOR).includes("..");
  if (escapes) throw outside(name);
}

async function openWithin(
  realRoot: string,
  path: string,
  name: string,
): Promise<{ readonly handle: FileHandle; readonly size: number } | undefined> {
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

async function readAll(
  handle: FileHandle,
  size: number,
  name: string,
  maxBytes: number,
): Promise<Uint8Array> {
  if (size > maxBytes) {
    const message = `"${name}" has ${size} bytes; at most ${maxBytes} can be sent, make it smaller`;
    throw new GatewayError("media.too_large", message);
  }
  // No more than was measured, so that a file that grows meanwhile keeps to the limit.
  const bytes = new Uint8Array(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
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
  const whole = /^(?:[/\\~]|[a-z][a-z0-9+.-]*:)/i.test(decode(reference));
  const parts = reference.split(SEPARATOR).filter((part) => part !== "");
  const name = whole ? (parts.at(-1) ?? reference) : reference;
  return name.replaceAll(/[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "").slice(0, 200);
}

// What cannot be there by its name (a file as a folder, a name that is too long, a ring of links) is not there.
function absent(error: unknown): undefined {
  const code = errno(error);
  if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" || code === "ELOOP")
    return undefined;
  throw error;
}

function errno(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
