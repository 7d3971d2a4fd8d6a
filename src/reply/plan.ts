import type { MediaBlock } from "../core/blocks.ts";
import type { AlbumItem, Channel, PieceBody } from "../core/channel.ts";
import { GatewayError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { say } from "../core/sentences.ts";
import type { InlineNode, MarkdownTree, Rendered } from "../core/tree.ts";
import { describe } from "../media/describe.ts";
import type { FileBlobs } from "../store/blobs.ts";
import { loadMedia, type MediaRoots } from "./load-media.ts";
import { takeMedia } from "./media-refs.ts";
import { splitRendered } from "./split.ts";
import { parseMarkdown } from "./tree.ts";

/** What an answer is cut for: the channel it goes to, and where its media may lie. */
export type PlanFor = {
  readonly channel: Pick<Channel, "limits" | "render">;
  readonly roots: MediaRoots;
  readonly blobs: FileBlobs;
  readonly log: Log;
};

/**
 * Cuts an answer into the pieces that a channel sends, in order. Media are loaded into the blob store, so that a retry
 * sends the same bytes; a reference that is refused becomes words in its place and the rest is kept. Never empty.
 */
export async function planReply(markdown: string, by: PlanFor): Promise<readonly PieceBody[]> {
  const bodies: PieceBody[] = [];
  let album: AlbumItem[] = [];
  const closeAlbum = (): void => {
    bodies.push(...asPieces(album, by.channel.limits.albumSize));
    album = [];
  };
  for (const part of takeMedia(parseMarkdown(markdown)).parts) {
    if (part.kind === "text") {
      closeAlbum();
      bodies.push(...asText(by.channel.render(part.tree), by.channel));
      continue;
    }
    const media = await load(part.path, by);
    if (typeof media === "string") {
      closeAlbum();
      bodies.push(...planWords(media, by.channel));
      continue;
    }
    const captioned = part.alt === "" ? undefined : by.channel.render(plainTree(part.alt));
    const fits = captioned !== undefined && captioned.text.length <= by.channel.limits.captionLength;
    album.push(fits ? { media, caption: captioned } : { media });
    if (captioned && !fits) {
      // Too long to stand below its picture, so it follows as text, whole.
      closeAlbum();
      bodies.push(...asText(captioned, by.channel));
    }
  }
  closeAlbum();
  return bodies.length > 0 ? bodies : planWords(say("turn.empty"), by.channel);
}

/** A few words of our own as pieces of text. No Markdown: the names of files in them are what they are. */
export function planWords(words: string, channel: Pick<Channel, "limits" | "render">): readonly PieceBody[] {
  return asText(channel.render(plainTree(words)), channel);
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

function asText(rendered: Rendered, channel: Pick<Channel, "limits">): readonly PieceBody[] {
  return splitRendered(rendered, channel.limits.textLength).map((piece) => ({
    kind: "text",
    rendered: piece,
  }));
}

/** Pictures and videos that stand together go as albums where the channel has them; everything else goes alone. */
function asPieces(items: readonly AlbumItem[], albumSize: number): readonly PieceBody[] {
  const bodies: PieceBody[] = [];
  let run: AlbumItem[] = [];
  const close = (): void => {
    const [only] = run;
    if (run.length > 1) bodies.push({ kind: "album", items: run });
    else if (only) bodies.push({ kind: "media", ...only });
    run = [];
  };
  for (const item of items) {
    const groups = albumSize > 1 && (item.media.type === "image" || item.media.type === "video");
    if (!groups || run.length === albumSize) close();
    run.push(item);
    if (!groups) close();
  }
  close();
  return bodies;
}

/** The block of a referenced file, or the words that stand in for it. */
async function load(path: string, by: PlanFor): Promise<MediaBlock | string> {
  try {
    const { bytes, filename } = await loadMedia(
      path,
      by.roots,
      Math.max(...Object.values(by.channel.limits.mediaBytes)),
    );
    const { mimeType, kind, ...sides } = await describe(bytes, filename);
    const capBytes = by.channel.limits.mediaBytes[kind];
    if (bytes.length > capBytes) throw tooLarge(filename, bytes.length, capBytes);
    return { type: kind, mimeType, blob: await by.blobs.put(bytes), bytes: bytes.length, filename, ...sides };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    by.log.warn({ code: error.code }, "a media reference of an answer was refused");
    return say("media.left_out", "en", { name: path.split("/").at(-1) ?? "file", why: reasonOf(error) });
  }
}

function reasonOf(error: GatewayError): string {
  switch (error.code) {
    case "media.too_large":
      return "too large to send";
    case "media.not_found":
      return "the file is not there";
    default:
      return "not a file that may be sent";
  }
}

function tooLarge(filename: string, bytes: number, capBytes: number): GatewayError {
  return new GatewayError(
    "media.too_large",
    `${filename} has ${bytes} bytes; the channel takes at most ${capBytes}`,
  );
}
