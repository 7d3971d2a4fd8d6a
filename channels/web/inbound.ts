import { createHash } from "node:crypto";
import type { MediaKind, TextBlock, Unfetched } from "../../src/core/blocks.ts";
import type { MessageEvent, Place, Sender, StopEvent } from "../../src/core/events.ts";

/** What the page sent in one go: text, files, or both. `id` is the page's own and stays the same when it tries again. */
export type Submission = {
  readonly chat: string;
  readonly id: string;
  readonly text: string;
  readonly files: readonly UploadedFile[];
};

/** A file that lies complete on disk. `ref` names it to `fetch`; name and type are what the browser said, made safe. */
export type UploadedFile = {
  readonly ref: string;
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Recorded on the page. */
  readonly voice: boolean;
  readonly durationSeconds?: number;
};

// Whoever has the page open is the owner; there are no others here.
const YOU: Sender = { id: "owner", name: "You" };

const TITLE_LENGTH = 48;

export function toMessage(submission: Submission, sentAt: string): MessageEvent {
  const text: readonly TextBlock[] =
    submission.text.trim() === "" ? [] : [{ type: "text", text: submission.text }];
  return {
    type: "message",
    id: submission.id,
    ref: submission.id,
    place: placeOf(submission.chat),
    from: YOU,
    sentAt,
    content: [...text, ...submission.files.map(toUnfetched)],
    addressed: true,
    whole: true,
  };
}

export function toStop(chat: string, id: string, sentAt: string): StopEvent {
  return { type: "stop", id, place: placeOf(chat), from: YOU, sentAt };
}

/** Tells a repeated submission from another one under the same id. */
export function fingerprint(submission: Submission): string {
  const files = submission.files.map(({ name, mimeType, sha256, voice }) => [name, mimeType, sha256, voice]);
  return createHash("sha256")
    .update(JSON.stringify([submission.text, files]))
    .digest("hex");
}

/** A conversation is called by the first words that were said in it. */
export function titleOf(submission: Submission): string {
  const words = submission.text.trim().replaceAll(/\s+/g, " ");
  if (words === "") {
    const [first] = submission.files;
    return first === undefined ? "Conversation" : first.voice ? "Voice note" : first.name;
  }
  if (words.length <= TITLE_LENGTH) return words;
  const cut = words.slice(0, TITLE_LENGTH + 1);
  const atSpace = cut.slice(0, Math.max(cut.lastIndexOf(" "), 0));
  // Not in the middle of a surrogate pair.
  return `${(atSpace.length > TITLE_LENGTH / 2 ? atSpace : words.slice(0, TITLE_LENGTH)).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** What browsers show as a picture, play as sound or film; an SVG is a document that can carry programs. */
export function kindOf(mimeType: string): MediaKind {
  if (mimeType === "image/svg+xml") return "file";
  const family = mimeType.slice(0, mimeType.indexOf("/"));
  return family === "image" || family === "audio" || family === "video" ? family : "file";
}

/** "Audio/WebM;codecs=opus" → "audio/webm"; what is no media type is a file of unknown type. */
export function safeMimeType(declared: string): string {
  const [type = ""] = declared.toLowerCase().split(";", 1);
  const trimmed = type.trim();
  return /^[a-z]+\/[a-z0-9][a-z0-9.+-]{0,100}$/.test(trimmed) ? trimmed : "application/octet-stream";
}

function toUnfetched(file: UploadedFile): Unfetched {
  return {
    type: "unfetched",
    kind: kindOf(file.mimeType),
    ref: file.ref,
    declared: {
      mimeType: file.mimeType,
      filename: file.name,
      bytes: file.bytes,
      ...(file.durationSeconds === undefined ? {} : { durationSeconds: file.durationSeconds }),
      ...(file.voice ? { label: "voice note" } : {}),
    },
  };
}

function placeOf(chat: string): Place {
  return { chat, kind: "private" };
}
