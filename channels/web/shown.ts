import type { MediaBlock, MediaKind } from "../../src/core/blocks.ts";
import { type UploadedFile, kindOf } from "./inbound.ts";
import type { Entry } from "./transcript.ts";

/** An entry as the page gets it. */
export type Shown = {
  readonly seq: number;
  readonly at: string;
  readonly from: "you" | "agent";
  /** The person's own message id. */
  readonly id?: string;
  /** As the person typed it. */
  readonly text?: string;
  /** Safe HTML of an answer. */
  readonly html?: string;
  readonly media: readonly ShownMedia[];
};

export type ShownMedia = {
  /** "file" for everything that is offered as a download. */
  readonly kind: MediaKind;
  readonly name: string;
  readonly bytes: number;
  readonly url: string;
  readonly caption?: string;
  readonly voice?: boolean;
  readonly durationSeconds?: number;
  readonly width?: number;
  readonly height?: number;
};

/** Types that browsers show without running anything that is in them. */
export const SHOWN = {
  image: ["apng", "avif", "bmp", "gif", "jpeg", "png", "webp"].map((type) => `image/${type}`),
  audio: ["aac", "flac", "mp4", "mpeg", "ogg", "opus", "wav", "webm", "x-m4a", "x-wav"].map(
    (type) => `audio/${type}`,
  ),
  video: ["mp4", "ogg", "quicktime", "webm"].map((type) => `video/${type}`),
} as const;

const INLINE: ReadonlySet<string> = new Set(Object.values(SHOWN).flat());

export function inline(mimeType: string): boolean {
  return INLINE.has(mimeType);
}

export function toShown(chat: string, seq: number, entry: Entry): Shown {
  const url = (n: number): string => `/api/chats/${chat}/media/${seq}/${n}`;
  const { at, from } = entry;
  switch (entry.from) {
    case "you":
      return {
        seq,
        at,
        from,
        id: entry.id,
        text: entry.text,
        media: entry.files.map((file, n) => ofUpload(file, url(n))),
      };
    case "agent":
      return {
        seq,
        at,
        from,
        ...(entry.html === undefined ? {} : { html: entry.html }),
        media: entry.media.map(({ media, caption }, n) => ofBlock(media, caption, url(n))),
      };
  }
}

/** What a file without a name is called where a name is needed. */
export function nameOf(media: MediaBlock): string {
  return media.filename ?? media.type;
}

function ofUpload(file: UploadedFile, url: string): ShownMedia {
  const { name, bytes, mimeType, voice, durationSeconds } = file;
  return {
    kind: inline(mimeType) ? kindOf(mimeType) : "file",
    name,
    bytes,
    url,
    ...(voice ? { voice } : {}),
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
  };
}

function ofBlock(media: MediaBlock, caption: string | undefined, url: string): ShownMedia {
  const { bytes, mimeType, durationSeconds, width, height } = media;
  return {
    kind: inline(mimeType) ? kindOf(mimeType) : "file",
    name: nameOf(media),
    bytes,
    url,
    ...(caption === undefined ? {} : { caption }),
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
  };
}
