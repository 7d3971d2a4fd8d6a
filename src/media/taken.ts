import type { AttachmentOutcome, BlobRef, ContentBlock, MediaBlock } from "../core/blocks.ts";
import { type Notice, say, type SentenceKey } from "../core/sentences.ts";
import { bytesWords } from "../core/words.ts";

/** What one attachment became: blocks for the model, its one outcome, and what the person is told where it is no use. */
export type Taken = {
  readonly blocks: readonly ContentBlock[];
  readonly outcome: AttachmentOutcome;
  readonly notice?: Notice;
  /** What was downloaded, where it is worth keeping for the agent's file tools. */
  readonly original?: File;
};

/** Bytes in the blob store, as what they are. */
export type File = {
  readonly mimeType: string;
  readonly blob: BlobRef;
  readonly bytes: number;
  /** Safe to show and to store. */
  readonly filename?: string;
};

/** What was downloaded, and what its channel said of it. */
export type Fetched = {
  readonly file: File;
  /** How sentences name it: its file name, or what the platform calls it. */
  readonly called: string;
  readonly durationSeconds?: number;
};

/** An attachment that is no use: the same sentence for the model, in brackets, and for the person. */
export function unusable(
  called: string,
  outcome: "too_large" | "unsupported" | "unreadable" | "unavailable",
  key: SentenceKey & `media.${string}`,
  values: Notice["values"] = {},
): Taken {
  // A bracket in the name must not end the ones around the sentence, nor an angle begin an element.
  const name = called.replaceAll(/[[［【〔]/g, "(").replaceAll(/[\]］】〕]/g, ")");
  const plain = name.replaceAll("<", "‹").replaceAll(">", "›");
  return {
    blocks: [{ type: "text", text: `[${say(key, "en", { ...values, name: plain })}]` }],
    outcome,
    notice: { key, values: { ...values, name } },
  };
}

/** What has more bytes than are taken; `bytes` as far as it is known. */
export function tooLarge(called: string, bytes: number | undefined, mostBytes: number): Taken {
  const limit = bytesWords(mostBytes);
  const told = bytes !== undefined && bytes > mostBytes ? bytesWords(bytes) : limit;
  // A byte too many is "20 MB" as well.
  const size = told === limit ? `over ${limit}` : told;
  return unusable(called, "too_large", "media.too_large", { size, limit });
}

/** An attachment that is no use here, but whole: it is named for the model as well, and kept where file tools find it. */
export function setAside(
  called: string,
  outcome: "unsupported" | "unavailable",
  key: SentenceKey & `media.${string}`,
  values: Notice["values"],
  block: MediaBlock,
): Taken {
  const told = unusable(called, outcome, key, values);
  const { mimeType, blob, bytes, filename } = block;
  return {
    ...told,
    blocks: [...told.blocks, block],
    original: { mimeType, blob, bytes, ...(filename === undefined ? {} : { filename }) },
  };
}
