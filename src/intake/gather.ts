import type { MessageEvent } from "../core/events.ts";

// How long the rest of one intent may take to arrive after each of its messages, in ms from the commit. The numbers
// are those that gateways in the field have settled on for what phones and clients do.
const TEXT_MS = 300;
/** A client splits what it cannot send in one message, so a long text may be the first of several. */
const FRAGMENT_MS = 1_500;
const FRAGMENT_LENGTH = 4_000;
/** A photo is often followed by the question about it. */
const MEDIA_MS = 1_500;
/** Items of an album arrive as messages of their own, with no count and no end. */
const ALBUM_MS = 1_000;
/** A comment and what it is about are two messages. */
const FORWARD_MS = 300;
/** However it goes on, a person waits no longer than this for the turn to begin. */
const LONGEST_MS = 10_000;
/** What a platform has kept for us comes as fast as it can send it. */
const LATE_MS = 5_000;
/** Whoever wrote it has waited for long, and one answer to all of it is worth a minute more. */
const LATE_LONGEST_MS = 60_000;

/** How long to wait for more after this message, in ms. */
export function windowMs(event: MessageEvent): number {
  if (event.whole) return 0;
  if (event.albumId !== undefined) return ALBUM_MS;
  if (event.content.some((part) => part.type === "unfetched")) return MEDIA_MS;
  if (event.forward) return FORWARD_MS;
  const length = event.content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  return length >= FRAGMENT_LENGTH ? FRAGMENT_MS : TEXT_MS;
}

/** What is known of the latest intent of the same person, agent and thread that no turn has claimed. */
type Open = {
  readonly intent: number;
  readonly firstAt: number;
  readonly dueAt: number;
  readonly album: string;
};

export type Gathered =
  /** It belongs to the intent, whose window now closes at `dueAt`. */
  | { readonly joins: number; readonly dueAt: number }
  /** It opens an intent of its own. */
  | { readonly joins: undefined; readonly dueAt: number };

/**
 * Whether a message belongs to an open intent: it came before the window closed, or it is a late item of its album.
 * What is late belongs together as long as more of it comes. Pure; `now` is the time of the commit, so that a slow download never splits what belongs together.
 */
export function gather(
  event: MessageEvent,
  open: Open | undefined,
  now: number,
  { late }: { readonly late: boolean } = { late: false },
): Gathered {
  const ownDueAt = now + (late ? LATE_MS : windowMs(event));
  if (!open) return { joins: undefined, dueAt: ownDueAt };
  const sameAlbum = event.albumId !== undefined && event.albumId === open.album;
  // Before its first message: the clock was set back, and the window would stay open for as long.
  const inWindow = open.firstAt <= now && now < open.dueAt && (late || !event.whole);
  if (!sameAlbum && !inWindow) return { joins: undefined, dueAt: ownDueAt };
  return { joins: open.intent, dueAt: closing(open, ownDueAt, now, late ? LATE_LONGEST_MS : LONGEST_MS) };
}

/** When the window of an intent closes in which a message was edited: whoever edits is still at it. Pure. */
export function reopened(open: Pick<Open, "firstAt" | "dueAt">, now: number): number {
  return closing(open, now + TEXT_MS, now);
}

function closing(
  { firstAt, dueAt }: Pick<Open, "firstAt" | "dueAt">,
  ownDueAt: number,
  now: number,
  longestMs = LONGEST_MS,
): number {
  const latest = Math.max(firstAt + longestMs, now);
  return Math.min(Math.max(ownDueAt, dueAt), latest);
}
