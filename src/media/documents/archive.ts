import { createGunzip } from "node:zlib";
import { bytesWords } from "../../core/words.ts";
import type { Unread } from "./contents.ts";
import type { Zip } from "./zip.ts";

const LISTED = 200;
/** Of a packed tar so much is unpacked, to get from one name to the next. */
const TAR_BYTES = 64_000_000;
const LONGEST_NAME = 200;

type Listed = { readonly name: string; readonly bytes: number };

/** An archive is not unpacked; what is in it is told. */
function archived(listed: readonly Listed[], count: number | undefined): Unread {
  const lines = listed
    .slice(0, LISTED)
    .map(({ name, bytes }) => `- ${listedName(name)} (${bytesWords(bytes)})`);
  const more = (count ?? listed.length) - lines.length;
  const total = count === undefined ? "" : `${count} ${count === 1 ? "entry" : "entries"}`;
  const text = [
    ...(total === "" ? [] : [`[${total}]`]),
    ...lines,
    ...(more > 0
      ? [`[and ${more} more]`]
      : count === undefined
        ? ["[and what follows; it was not listed]"]
        : []),
  ].join("\n");
  return {
    outcome: "unsupported",
    key: "media.archive",
    ...(lines.length === 0 ? {} : { listing: { text } }),
  };
}

export function zipListing(zip: Zip): Unread {
  return archived(
    zip.entries.filter(({ folder }) => !folder),
    zip.entries.filter(({ folder }) => !folder).length + Math.max(zip.count - zip.entries.length, 0),
  );
}

/** What is in a tar, packed with gzip or not; undefined where it is none. */
export async function tarListing(bytes: Uint8Array, gzipped: boolean): Promise<Unread | undefined> {
  const listed: Listed[] = [];
  const tar = await unpacked(bytes, gzipped);
  let longName: string | undefined;
  let at = 0;
  while (at + 512 <= tar.length) {
    const header = tar.subarray(at, at + 512);
    if (header.every((byte) => byte === 0)) return archived(listed, listed.length);
    if (!isHeader(header)) break;
    const size = sizeOf(header);
    const data = tar.subarray(at + 512, at + 512 + Math.min(size, 4_096));
    const type = String.fromCharCode(header[156] ?? 0);
    // A long name stands in an entry before the one that it is for: GNU's, or POSIX's among other attributes.
    if (type === "L") longName = field(data, 0, data.length);
    else if (type === "x")
      longName = /\d+ path=([^\n]*)\n/.exec(Buffer.from(data).toString("utf8"))?.[1] ?? longName;
    else if (type !== "g" && type !== "K") {
      const prefix = field(header, 257, 5) === "ustar" ? field(header, 345, 155) : "";
      const name = longName ?? (prefix === "" ? field(header, 0, 100) : `${prefix}/${field(header, 0, 100)}`);
      longName = undefined;
      if (type !== "5") listed.push({ name, bytes: size });
      if (listed.length > 100_000) break;
    }
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return listed.length === 0 ? undefined : archived(listed, undefined);
}

function field(bytes: Uint8Array, from: number, length: number): string {
  const text = bytes.subarray(from, from + length);
  const end = text.indexOf(0);
  return Buffer.from(end < 0 ? text : text.subarray(0, end)).toString("utf8");
}

function isHeader(header: Uint8Array): boolean {
  let sum = 8 * 32; // the checksum itself is counted as blanks
  for (const [index, byte] of header.entries()) if (index < 148 || index >= 156) sum += byte;
  return Number.parseInt(field(header, 148, 8).trim(), 8) === sum;
}

function sizeOf(header: Uint8Array): number {
  const size = Number.parseInt(field(header, 124, 12).trim(), 8); // octal; larger than 8 GB is written otherwise
  return Number.isSafeInteger(size) && size >= 0 ? size : 0;
}

async function unpacked(bytes: Uint8Array, gzipped: boolean): Promise<Uint8Array> {
  if (!gzipped) return bytes;
  const gunzip = createGunzip();
  gunzip.end(bytes);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
      // no encoding is set, so chunks are buffers
      chunks.push(chunk);
      length += chunk.length;
      if (length > TAR_BYTES) break;
    }
  } catch {
    // What came before the damage is enough to list.
  }
  return Buffer.concat(chunks);
}

/** A name is told as it is, without what could pose as a line or hide. */
function listedName(name: string): string {
  const clean = name.toWellFormed().replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, "");
  return clean.length > LONGEST_NAME ? `${clean.slice(0, LONGEST_NAME).toWellFormed()}…` : clean;
}
