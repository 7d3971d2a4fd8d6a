import { setImmediate } from "node:timers/promises";
import type { Channel, MediaForm, MediaItem, PieceBody } from "../core/channel.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError, hasCode } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { say } from "../core/sentences.ts";
import type { BlockNode, InlineNode, MarkdownTree, Rendered } from "../core/tree.ts";
import type { Fitted } from "../media/fit.ts";
import { safeName } from "../core/names.ts";
import type { Workshop } from "../media/workshop.ts";
import type { FileBlobs } from "../store/blobs.ts";
import { loadMedia, type MediaRoots } from "./load-media.ts";
import { formOf } from "./media-form.ts";
import { isMediaPath, takeMedia } from "./media-refs.ts";
import { fetchRemote, isAllowed, type RemoteRules } from "./remote.ts";
import { renderParts } from "./split-tree.ts";
import { splitRendered } from "./split.ts";
import { parseMarkdown } from "./tree.ts";

/** What an answer is cut for: the channel it goes to, and where its media may come from. */
export type PlanFor = {
  readonly channel: PlanChannel;
  readonly roots: MediaRoots;
  readonly answers: AnswerSettings;
  readonly blobs: FileBlobs;
  readonly workshop: Workshop;
  /** That a picture may declare before anything of it is decoded. */
  readonly imagePixels: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Stand-ins for the net, where it is not the real one. */
  readonly net?: Pick<RemoteRules, "lookup" | "isPublic">;
  /** Aborts when the answer is not wanted any more. */
  readonly signal: AbortSignal;
};

/** By the keys of perch.yaml's `answers`. */
export type AnswerSettings = {
  /** Hosts whose files are fetched; others stay links. */
  readonly mediaHosts: readonly string[];
  /** A longer answer goes out as a file. */
  readonly fileOverCharacters?: number;
};

/** Further files of an answer are left out: somebody has to download them all. */
const MOST_MEDIA = 100;

export type PlanChannel = Pick<Channel, "limits" | "render" | "lengthOf">;

/**
 * Cuts an answer into the pieces that a channel sends, in order. Media are loaded into the blob store, so that a retry
 * sends the same bytes; a reference that is refused becomes words in its place and the rest is kept. Never empty.
 */
export async function planReply(markdown: string, by: PlanFor): Promise<readonly PieceBody[]> {
  const { channel, answers } = by;
  const { mediaHosts, fileOverCharacters = Infinity } = answers;
  const tree = parseMarkdown(markdown);
  // Reading and rendering a long answer take their time each: others have theirs between.
  if (markdown.length > LONG_CHARACTERS) await setImmediate();
  const { parts } = takeMedia(tree, (url) => isMediaPath(url) || isAllowed(url, mediaHosts));
  const asDocument = markdown.length > fileOverCharacters;
  const pieces = new Pieces(channel);
  if (asDocument) pieces.add(...(await inFile(markdown, tree, by)));
  let count = 0;
  for (const part of parts) {
    if (part.kind === "text") {
      if (!asDocument) pieces.addText(part.tree);
      continue;
    }
    if (++count === MOST_MEDIA + 1)
      by.log.warn({ most: MOST_MEDIA }, "further files of an answer are left out");
    const loaded =
      count > MOST_MEDIA ? leftOutFor(part.path, "too many files in one answer") : await load(part.path, by);
    if (loaded === undefined) pieces.addText(linkTo(part));
    else if (typeof loaded === "string") pieces.addText(plainTree(`${part.alt} ${loaded}`.trim()));
    else pieces.addMedia(loaded, part.alt === "" ? undefined : channel.render(plainTree(part.alt)));
  }
  const bodies = pieces.all();
  return bodies.length > 0 ? bodies : planWords(say("turn.empty"), channel);
}

/** A few words of our own as pieces of text. No Markdown: the names of files in them are what they are. */
export function planWords(words: string, channel: PlanChannel): readonly PieceBody[] {
  return asText(plainTree(words), channel);
}

export type CallWords = { readonly before: string; readonly code: string; readonly after: string };

/** What people are asked about a call, as a tree from the start: nothing in it is read as Markdown. */
export function planCall({ before, code, after }: CallWords, channel: PlanChannel): readonly PieceBody[] {
  const [first, last] = [plainTree(before), plainTree(after)];
  return asText({ blocks: [...first.blocks, { type: "code", text: code }, ...last.blocks] }, channel);
}

/**
 * Pieces in the order of the answer; media that stand together become albums where the channel has them, and texts that
 * do are one.
 */
class Pieces {
  readonly #channel: PlanChannel;
  readonly #bodies: PieceBody[] = [];
  #album: MediaItem[] = [];
  #blocks: BlockNode[] = [];

  constructor(channel: PlanChannel) {
    this.#channel = channel;
  }

  add(...bodies: readonly PieceBody[]): void {
    this.#close();
    this.#bodies.push(...bodies);
  }

  addText({ blocks }: MarkdownTree): void {
    if (this.#album.length > 0) this.#close();
    this.#blocks.push(...blocks);
  }

  /** A caption that is too long to stand below its medium, or that cannot, follows as text, whole. */
  addMedia({ as, media }: Fitted, caption: Rendered | undefined): void {
    const { limits } = this.#channel;
    const stands =
      caption !== undefined &&
      lengthIn(this.#channel, caption) <= limits.captionLength &&
      !(as !== "file" && limits.shows[as]?.captionless);
    if (this.#blocks.length > 0 || !this.#mixes(as, media.bytes)) this.#close();
    this.#album.push({ as, media, ...(stands ? { caption } : {}) });
    if (caption && !stands) this.add(...splitText(caption, this.#channel));
  }

  all(): readonly PieceBody[] {
    this.#close();
    return this.#bodies;
  }

  /** An album is one upload, which has the room of one file. */
  #mixes(as: MediaForm, bytes: number): boolean {
    const { album, fileBytes } = this.#channel.limits;
    const [first] = this.#album;
    if (!first) return true;
    if (!album || this.#album.length === album.size) return false;
    if (this.#album.reduce((sum, { media }) => sum + media.bytes, bytes) > fileBytes) return false;
    return album.mixes.some((forms) => forms.includes(first.as) && forms.includes(as));
  }

  #close(): void {
    const [only] = this.#album;
    if (this.#album.length > 1) this.#bodies.push({ kind: "album", items: this.#album });
    else if (only) this.#bodies.push({ kind: "media", ...only });
    this.#album = [];
    this.#bodies.push(...asText({ blocks: this.#blocks }, this.#channel));
    this.#blocks = [];
  }
}

function asText(tree: MarkdownTree, channel: PlanChannel): readonly PieceBody[] {
  const { limits, render } = channel;
  const whole = render(tree);
  // A richer form cannot be cut, as markup cannot.
  const cutsTree = limits.markup || whole.rich !== undefined;
  const rendered = cutsTree ? renderParts(tree, limits.textLength, render) : [whole];
  return rendered.flatMap((part) => splitText(part, channel));
}

/** Pieces of at most so many units of text, as the channel counts. */
export function splitText(
  rendered: Rendered,
  channel: PlanChannel,
  textLength = channel.limits.textLength,
): readonly PieceBody[] {
  const pieces = splitRendered(rendered, textLength, (piece) => lengthIn(channel, piece));
  // What is not cut keeps what its channel has put beside it.
  const isWhole = pieces[0]?.text === rendered.text.trim();
  return pieces.map((piece) => ({ kind: "text", rendered: isWhole ? { ...rendered, ...piece } : piece }));
}

export function lengthIn(channel: PlanChannel, rendered: Rendered): number {
  return channel.lengthOf?.(rendered) ?? rendered.text.length;
}

function plainTree(text: string): MarkdownTree {
  const paragraphs = text.split(/\n{2,}/).filter((paragraph) => paragraph.trim() !== "");
  return {
    blocks: paragraphs.map((paragraph) => ({
      type: "paragraph",
      inline: paragraph
        .split("\n")
        .flatMap((line, at): InlineNode[] => [
          ...(at === 0 ? [] : [{ type: "break" } as const]),
          { type: "text", text: line },
        ]),
    })),
  };
}

const LONG_CHARACTERS = 10_000;

const FILE_NAME = "answer.md";
/** What is shown of an answer that goes out as a file: enough to tell whether to open it. */
const FIRST_CHARACTERS = 700;

/** The first words of an answer, and all of it as a file. */
async function inFile(
  markdown: string,
  tree: MarkdownTree,
  { channel, blobs }: PlanFor,
): Promise<readonly PieceBody[]> {
  const bytes = Buffer.from(markdown);
  const blob = await blobs.put(bytes);
  const media = {
    type: "file",
    mimeType: "text/markdown",
    blob,
    bytes: bytes.length,
    filename: FILE_NAME,
  } as const;
  const caption = channel.render(plainTree(say("answer.in_file")));
  const [first] = renderParts(tree, FIRST_CHARACTERS, channel.render);
  return [
    ...(first ? splitText(first, channel) : []),
    { kind: "media", as: "file", media, ...(channel.limits.captionLength > 0 ? { caption } : {}) },
  ];
}

/** A referenced file as it goes out; the words that stand in for it; or nothing where it stays a link. */
async function load(reference: string, by: PlanFor): Promise<Fitted | string | undefined> {
  const { blobs, roots, answers, channel, clock, log, signal, workshop, imagePixels } = by;
  const { fileBytes, shows } = channel.limits;
  const take = (chunks: AsyncIterable<Uint8Array>) => blobs.write(chunks, fileBytes);
  const local = isMediaPath(reference);
  try {
    const { taken, filename } = local
      ? await loadMedia(reference, roots, fileBytes, take)
      : await fetchRemote(reference, { hosts: answers.mediaHosts, clock, ...by.net }, signal, take);
    if (taken.bytes === 0) throw new GatewayError("media.unavailable", "the file is empty");
    const fitted = await formOf(taken, filename, { shows, workshop, imagePixels, signal });
    // Servers answer with a page where a file is gone or a login is missing.
    if (!local && fitted.media.mimeType === "text/html")
      throw new GatewayError("media.unavailable", "the address gives a page, and no file");
    return fitted;
  } catch (error) {
    if (!(error instanceof GatewayError) || signal.aborted) throw error;
    log.warn({ code: error.code }, "a media reference of an answer was refused");
    if (!local) return undefined;
    return leftOutFor(reference, reasonOf(error));
  }
}

function leftOutFor(reference: string, why: string): string {
  return say("media.left_out", "en", { name: safeName(reference) ?? "file", why });
}

/** What is not fetched leads there all the same. */
function linkTo({ path, alt }: { readonly path: string; readonly alt: string }): MarkdownTree {
  const link: InlineNode = { type: "image", url: path, alt };
  return { blocks: [{ type: "paragraph", inline: [link] }] };
}

function reasonOf(error: GatewayError): string {
  if (hasCode(error, "media.too_large")) return "too large to send";
  if (hasCode(error, "media.not_found")) return "the file is not there";
  if (hasCode(error, "media.unavailable")) return "the file is empty";
  return "not a file that may be sent";
}
