import type { ContentBlock as ModelBlock } from "@langchain/core/messages";
import type { Blobs } from "../../core/agent.ts";
import type { BlobRef, Extract, MediaBlock, Still } from "../../core/blocks.ts";
import { hasCode } from "../../core/errors.ts";
import { bytesWords, durationWords, inQuotes } from "../../core/words.ts";
import { mediaWords, pathWords } from "../words.ts";
import { frame, frameTranscript } from "./frame.ts";
import { type Shape, shapeOf, type Shapes } from "./shapes.ts";

/** One part of a message to the model; `sent` where it is bytes. */
export type Part = { readonly block: ModelBlock.Standard; readonly sent?: Sent };

export type Sent = {
  readonly blob: BlobRef;
  readonly kind: Shape["type"];
  readonly bytes: number;
};

export type Showing = {
  readonly shapes: Shapes;
  readonly blobs: Blobs;
  /** Whether the agent has tools that open the paths of the chat's folder. */
  readonly paths: boolean;
  /** Whether bytes are kept from the model, because it has refused them. */
  readonly hidden: (blob: BlobRef, kind: Shape["type"]) => boolean;
  /** What is left for one request. */
  readonly room: { characters: number; bytes: number; pictures: number; largePictures: number };
};

/** Anthropic: in a request of more than 20 pictures none may have a longer side. */
export const MANY_PICTURES = 20;
const SIDE_AMONG_MANY = 2_000;

const STILL: Shape = { type: "image", mimeType: "image/jpeg" };
const REFUSED = "the model did not take it";
const GONE = "no longer available";

/**
 * A medium as this model can be told it: its own bytes, else pictures of it and the text in it, else words. The words
 * before it say what it is and what the model does not see of it.
 */
export async function partsOf(medium: MediaBlock, how: Showing): Promise<readonly Part[]> {
  const said: string[] = [];
  const parts = (await ownBytes(medium, how, said)) ?? [
    ...(await stillsOf(medium, how, said)),
    ...(await extractOf(medium, how, said)),
  ];
  const bare = parts.length === 0 && said.length === 0;
  const rest = bare ? ": you are not shown its contents" : said.map((words) => `; ${words}`).join("");
  const caption = medium.caption?.trim() ? [text(medium.caption)] : [];
  return [text(`[${mediaWords(medium, how)}${rest}]`), ...parts, ...caption];
}

async function ownBytes(
  medium: MediaBlock,
  how: Showing,
  said: string[],
): Promise<readonly Part[] | undefined> {
  const shape = shapeOf(medium, how.shapes);
  if (shape === undefined) return undefined;
  // OpenAI wants a name for every file.
  const filename = shape.type === "file" ? (medium.filename ?? "document.pdf") : undefined;
  const part = await bytesOf(medium, shape, how, filename);
  if (typeof part !== "string") return [part];
  said.push(part);
  return undefined;
}

/** Frames of a video; pages of a document in which there is no text. */
async function stillsOf(medium: MediaBlock, how: Showing, said: string[]): Promise<readonly Part[]> {
  const { stills = [], extract, type } = medium;
  if (stills.length === 0 || !how.shapes.images.has(STILL.mimeType)) {
    if (type === "video" && extract !== undefined) said.push("you are not shown its pictures");
    return [];
  }
  const parts: Part[] = [];
  for (const still of stills) parts.push(...(await stillParts(still, how)));
  said.push(stills.length === 1 ? "1 picture of it follows" : `${stills.length} pictures of it follow`);
  return parts;
}

async function stillParts(still: Still, how: Showing): Promise<readonly Part[]> {
  const part = await bytesOf(still, STILL, how);
  return typeof part === "string" ? [text(`[${still.label}: ${part}]`)] : [text(`[${still.label}]`), part];
}

async function extractOf(medium: MediaBlock, how: Showing, said: string[]): Promise<readonly Part[]> {
  const { extract } = medium;
  if (extract === undefined) return [];
  const bytes = await readIfThere(how.blobs, extract.blob);
  if (bytes === undefined) {
    said.push(GONE);
    return [];
  }
  const whole = Buffer.from(bytes).toString("utf8");
  const shown = fitting(whole, how.room.characters);
  how.room.characters -= shown.length;
  const cut = shown.length < whole.length || extract.whole !== undefined;
  if (cut) said.push(shortenedWords(medium, extract, shown === "", how.paths));
  if (shown === "") return [];
  const words =
    extract.as === "text"
      ? frame(medium.filename ?? medium.type, shown)
      : frameTranscript(soundOf(medium), shown);
  return [text(words)];
}

/** What is missing of a text, and how to get at it. */
function shortenedWords(
  { mimeType, path: original }: MediaBlock,
  { whole }: Extract,
  none: boolean,
  paths: boolean,
): string {
  const path = whole?.path ?? (mimeType.startsWith("text/") ? original : undefined);
  return [
    none ? "left out, too much text for one request" : "shortened",
    ...(whole === undefined
      ? []
      : [
          `in all ${bytesWords(whole.bytes)} and ${whole.lines} ${whole.lines === 1 ? "line" : "lines"} of text`,
        ]),
    ...(paths && path !== undefined ? [`read on with read_file(${pathWords(path)}, offset, limit)`] : []),
  ].join(", ");
}

const CUT = "\n\n[… left out here …]\n\n";

/** As much of a text as there is room for: its head and its tail, with the cut said. */
function fitting(whole: string, room: number): string {
  if (whole.length <= room) return whole;
  const half = Math.floor((room - CUT.length) / 2);
  if (half <= 0) return "";
  // A character must not be cut in two.
  const head = whole.slice(0, half).replace(/[\ud800-\udbff]$/, "");
  const tail = whole.slice(whole.length - half).replace(/^[\udc00-\udfff]/, "");
  return `${head}${CUT}${tail}`;
}

function soundOf({ type, filename, durationSeconds }: MediaBlock): string {
  const named = filename === undefined ? "" : ` ${inQuotes(filename)}`;
  const what =
    type === "video" ? `the sound of a video${named}` : named === "" ? "a voice note" : `a recording${named}`;
  return durationSeconds === undefined ? what : `${what}, ${durationWords(durationSeconds)}`;
}

/** The part that carries the bytes, or words for why there is none. */
async function bytesOf(
  medium: Pick<MediaBlock, "blob" | "bytes" | "width" | "height">,
  { type, mimeType }: Shape,
  how: Showing,
  filename?: string,
): Promise<Part | string> {
  const { blob, bytes } = medium;
  if (how.hidden(blob, type)) return REFUSED;
  const { room } = how;
  if (bytes > room.bytes) return "left out, too many bytes for one request";
  const large = type === "image" && isLarge(medium);
  if (type === "image" && room.pictures <= 0) return "left out, too many pictures for one request";
  if (large && room.largePictures <= 0) return "left out, too large for a request of so many pictures";
  const read = await readIfThere(how.blobs, blob);
  if (read === undefined) return GONE;
  if (type === "image") {
    room.pictures -= 1;
    room.largePictures -= 1;
    // With a large one in it a request takes no more than this many in all.
    if (large) room.pictures = Math.min(room.pictures, room.largePictures);
  }
  room.bytes -= read.length;
  const data = Buffer.from(read).toString("base64");
  return {
    block: { type, mimeType, data, ...(filename === undefined ? {} : { metadata: { filename } }) },
    sent: { blob, kind: type, bytes },
  };
}

/** One of unknown size may be large. */
function isLarge({ width, height }: Pick<MediaBlock, "width" | "height">): boolean {
  return width === undefined || height === undefined || Math.max(width, height) > SIDE_AMONG_MANY;
}

function text(words: string): Part {
  return { block: { type: "text", text: words } };
}

/** Undefined for what was cleaned away: a turn must not fail for it. */
export async function readIfThere(blobs: Blobs, ref: BlobRef): Promise<Uint8Array | undefined> {
  try {
    return await blobs.read(ref);
  } catch (error) {
    if (hasCode(error, "blob.missing")) return undefined;
    throw error;
  }
}
