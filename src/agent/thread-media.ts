import { createHash } from "node:crypto";
import type { BlobRef } from "../core/blocks.ts";

/** JSON text whose media stand in the blob store; `mark` names the places, and is "" when there are none. */
export type Parked = { readonly text: string; readonly mark: string };

// Bytes of a picture are longer; ids, keys, hashes and signatures are shorter.
const LONG_RUN = 1000;
const LONG_BYTES = (LONG_RUN * 3) / 4;
const RUN = /[A-Za-z0-9+/_-]{1000,}={0,2}/g;
const HAS_RUN = /[A-Za-z0-9+/_-]{1000}/;
const HAS_BYTES = /"Uint8Array"|"Buffer"/;
const DATA_URL = /data:([\w.+-]+\/[\w.+-]+)?[^,\s"]{0,100};base64,$/;

const MEDIA = /image|audio|video|file|media|document/;

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

/** A long run of text by what it was: base64, or something else of that alphabet, which is kept as it stands. */
type Run = { readonly blob: BlobRef; readonly as: "base64" | "text"; readonly mime?: string };
type Place =
  | { readonly text: readonly (string | Run)[] }
  | { readonly bytes: BlobRef; readonly as: "Uint8Array" | "Buffer" };

/**
 * Takes every long base64 run and every long byte array out of serialised JSON. What stands in their place can be told
 * from anything that the value itself says by `mark`, which must not occur in the text.
 */
export function park(text: string, mark: string, blobs: Map<BlobRef, Uint8Array>): Parked {
  if (!HAS_RUN.test(text) && !HAS_BYTES.test(text)) return { text, mark: "" };
  let found = false;
  const tree = parkNode(parse(text));
  return found ? { text: JSON.stringify(tree), mark } : { text, mark: "" };

  function parkNode(node: Json): Json {
    if (typeof node === "string") return HAS_RUN.test(node) ? place({ text: parkRuns(node) }) : node;
    if (typeof node !== "object" || node === null) return node;
    if (isList(node)) return node.map(parkNode);
    const array = byteArray(node);
    if (array) return place({ bytes: keep(array.bytes), as: array.as });
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, parkNode(value)]));
  }

  function parkRuns(value: string): readonly (string | Run)[] {
    const parts: (string | Run)[] = [];
    let end = 0;
    for (const { 0: run, index } of value.matchAll(RUN)) {
      if (index > end) parts.push(value.slice(end, index));
      const mime = DATA_URL.exec(value.slice(Math.max(0, index - 200), index))?.[1];
      const { bytes, as } = decode(run);
      parts.push({ blob: keep(bytes), as, ...(mime === undefined ? {} : { mime }) });
      end = index + run.length;
    }
    if (end < value.length) parts.push(value.slice(end));
    return parts;
  }

  function place(what: Place): Json {
    found = true;
    return { [mark]: what };
  }

  function keep(bytes: Uint8Array): BlobRef {
    const ref: BlobRef = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    blobs.set(ref, bytes);
    return ref;
  }
}

/** Whether so many bytes are taken for media. */
export function isLong(bytes: Uint8Array): boolean {
  return bytes.byteLength >= LONG_BYTES;
}

/** Puts media back where they stood. */
export async function unpark(
  { text, mark }: Parked,
  read: (ref: BlobRef) => Promise<Uint8Array>,
): Promise<string> {
  const tree = parse(text);
  const blobs = new Map<BlobRef, Uint8Array>();
  for (const ref of refsIn(tree, mark)) blobs.set(ref, await read(ref));
  const bytesOf = (ref: BlobRef): Buffer => Buffer.from(blobs.get(ref) ?? []);
  return JSON.stringify(
    replace(tree, mark, (place) => {
      if ("bytes" in place) return byteNode(bytesOf(place.bytes), place.as);
      return place.text
        .map((part) =>
          typeof part === "string"
            ? part
            : bytesOf(part.blob).toString(part.as === "base64" ? "base64" : "utf8"),
        )
        .join("");
    }),
  );
}

/** A serialised message with words where its media stood: a block of media becomes a block of text. */
export function inWords({ text, mark }: Parked): string {
  const message = withTextBlocks(parse(text), mark);
  return JSON.stringify(replace(message, mark, (place, holder) => words(mimeOf(place, holder))));
}

function withTextBlocks(message: Json, mark: string): Json {
  if (!isObject(message)) return message;
  const kwargs = message["kwargs"];
  if (!isObject(kwargs)) return message;
  const content = kwargs["content"];
  if (content === undefined || !isList(content)) return message;
  return { ...message, kwargs: { ...kwargs, content: content.map((block) => asText(block, mark)) } };
}

function asText(block: Json, mark: string): Json {
  if (!isObject(block)) return block;
  const type = block["type"];
  // A tool's input keeps its form, since the call would not be a call without it.
  if (typeof type !== "string" || !MEDIA.test(type)) return block;
  const place = firstPlace(block, mark);
  return place ? { type: "text", text: words(mimeOf(place, block)) } : block;
}

function words(mime: string): string {
  return `[${mime}, no longer shown]`;
}

function mimeOf(place: Place, block: JsonObject | undefined): string {
  if ("text" in place) {
    const run = place.text.find((part) => typeof part !== "string");
    if (run?.mime !== undefined) return run.mime;
  }
  const source = block?.["source"];
  for (const holder of [block, isObject(source) ? source : undefined]) {
    for (const key of ["mimeType", "mime_type", "media_type"]) {
      const mime = holder?.[key];
      if (typeof mime === "string") return mime;
    }
  }
  const type = block?.["type"];
  return (typeof type === "string" && MEDIA.exec(type)?.[0]) || "data";
}

function replace(
  node: Json,
  mark: string,
  fill: (place: Place, holder: JsonObject | undefined) => Json,
  holder?: JsonObject,
): Json {
  if (typeof node !== "object" || node === null) return node;
  if (isList(node)) return node.map((item) => replace(item, mark, fill, holder));
  const place = placeOf(node, mark);
  if (place) return fill(place, holder);
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, replace(value, mark, fill, node)]),
  );
}

function* placesIn(node: Json, mark: string): Generator<Place> {
  if (typeof node !== "object" || node === null) return;
  const place = isList(node) ? undefined : placeOf(node, mark);
  if (place) yield place;
  else for (const value of Object.values(node)) yield* placesIn(value, mark);
}

function firstPlace(node: Json, mark: string): Place | undefined {
  for (const place of placesIn(node, mark)) return place;
  return undefined;
}

function refsIn(tree: Json, mark: string): ReadonlySet<BlobRef> {
  const refs = new Set<BlobRef>();
  for (const place of placesIn(tree, mark)) {
    if ("bytes" in place) refs.add(place.bytes);
    else for (const part of place.text) if (typeof part !== "string") refs.add(part.blob);
  }
  return refs;
}

function placeOf(node: JsonObject, mark: string): Place | undefined {
  const value = node[mark];
  // Only `park` knows the mark; other things of the codec under it have neither key.
  return isObject(value) && ("text" in value || "bytes" in value) ? (value as Place) : undefined;
}

function decode(run: string): { readonly bytes: Uint8Array; readonly as: Run["as"] } {
  const bytes = Buffer.from(run, "base64");
  return bytes.toString("base64") === run ? { bytes, as: "base64" } : { bytes: Buffer.from(run), as: "text" };
}

/** The two forms in which the serialiser writes bytes down: its own record, and what Buffer says of itself. */
function byteArray(
  node: JsonObject,
): { readonly bytes: Uint8Array; readonly as: "Uint8Array" | "Buffer" } | undefined {
  const { type, id, args, data } = node;
  if (type === "Buffer" && data !== undefined && isBytes(data))
    return { bytes: Uint8Array.from(data), as: "Buffer" };
  if (type !== "constructor" || id === undefined || !isList(id) || id[0] !== "Uint8Array") return undefined;
  const list = args !== undefined && isList(args) ? args[0] : undefined;
  return list !== undefined && isBytes(list) ? { bytes: Uint8Array.from(list), as: "Uint8Array" } : undefined;
}

function byteNode(bytes: Uint8Array, as: "Uint8Array" | "Buffer"): Json {
  if (as === "Buffer") return { type: "Buffer", data: [...bytes] };
  return { lc: 2, type: "constructor", id: ["Uint8Array"], method: "from", args: [[...bytes]], kwargs: {} };
}

function isBytes(node: Json): node is readonly number[] {
  return isList(node) && node.length >= LONG_BYTES && node.every((item) => typeof item === "number");
}

function isList(node: Json): node is readonly Json[] {
  return Array.isArray(node);
}

function isObject(node: Json | undefined): node is JsonObject {
  return typeof node === "object" && node !== null && !isList(node);
}

function parse(text: string): Json {
  return JSON.parse(text) as Json; // JSON.parse gives nothing else
}
