import type { Still } from "../../core/blocks.ts";
import type { Notice, SentenceKey } from "../../core/sentences.ts";

/** What a reader found in a document. */
export type Contents = {
  /** Markdown-like; what is not the document's own stands in brackets on a line of its own: "[page 3]". */
  readonly text: string;
  /** What the bytes turned out to be, where the whole file says more than its head. */
  readonly mimeType?: string;
  readonly note?: string;
  readonly stills?: readonly Still[];
  /** It is not all of the document, but what was asked for. */
  readonly part?: true;
};

/** Why there is nothing to read. */
export type Unread = {
  readonly outcome: "too_large" | "unsupported" | "unreadable";
  readonly key: SentenceKey & `media.${string}`;
  readonly values?: Notice["values"];
  /** Of an archive: what is in it, by name and size. */
  readonly listing?: Contents;
};

export const BROKEN: Unread = { outcome: "unreadable", key: "media.broken" };
export const EMPTY: Unread = { outcome: "unreadable", key: "media.empty" };
/** Only pictures, and nobody to look at them or none that can be drawn. */
export const NO_TEXT: Unread = { outcome: "unsupported", key: "media.scan" };
export const PASSWORD: Unread = { outcome: "unsupported", key: "media.password" };

export function unsupported(format: string): Unread {
  return { outcome: "unsupported", key: "media.unsupported", values: { format } };
}
