import type { MessageEvent } from "../core/events.ts";
import type { GatherRules } from "../core/rules.ts";
import type { OpenIntent } from "../store/inbox.ts";

/** What phones and clients hand over as several messages: a client splits what it cannot send in one. */
const FRAGMENT_LENGTH = 4_000;
/** What a platform has kept for us comes as fast as it can send it. */
const LATE_MS = 5_000;
/** Whoever wrote it has waited for long, and one answer to all of it is worth a minute more. */
const LATE_LONGEST_MS = 60_000;

/** What a message is, to whom more may follow: a photo its question, a comment what it is about. */
export type WindowKind = "whole" | "album" | "media" | "forward" | "fragment" | "text";

export function windowKind(event: MessageEvent): WindowKind {
  if (event.whole) return "whole";
  // Items of an album arrive as messages of their own, with no count and no end.
  if (event.albumId !== undefined) return "album";
  if (event.content.some((part) => part.type === "unfetched")) return "media";
  if (event.forward) return "forward";
  return charactersOf(event) >= FRAGMENT_LENGTH ? "fragment" : "text";
}

/** How long to wait for more after this message, in ms. */
export function windowMs(event: MessageEvent, rules: GatherRules): number {
  switch (windowKind(event)) {
    case "whole":
      return 0;
    case "album":
      return rules.albumMs;
    case "media":
      return rules.mediaMs;
    case "forward":
      return rules.forwardMs;
    case "fragment":
      return rules.fragmentMs;
    case "text":
      return rules.textMs;
  }
}

/** UTF-16 units of what a message itself says. */
export function charactersOf({ content }: Pick<MessageEvent, "content">): number {
  return content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
}

/** Where a message belongs, and why, as `perch why` tells it. */
export type Gathered = {
  /** The intent whose window now closes at `dueAt`; undefined where the message opens one of its own. */
  readonly joins: number | undefined;
  readonly dueAt: number;
  readonly why: string;
};

/**
 * Whether a message belongs to an open intent: it came before the window closed, or it is a late item of its album. What is
 * late belongs together as long as more of it comes. What would exceed the bounds opens a new intent; an album counts for
 * itself, so that it is not torn apart. Pure; `now` is the time of the commit, so that a slow download never splits what
 * belongs together.
 */
export function gather(
  event: MessageEvent,
  open: OpenIntent | undefined,
  now: number,
  by: {
    readonly rules: GatherRules;
    readonly late?: boolean;
    /** A turn runs, and until it ends whatever its person says belongs together. */
    readonly collects?: boolean;
    /** The kind of the message whose window is open. */
    readonly window?: string;
  },
): Gathered {
  const { rules, late = false, collects = false } = by;
  const ownDueAt = now + (late ? LATE_MS : windowMs(event, rules));
  const opens = (why: string): Gathered => ({ joins: undefined, dueAt: ownDueAt, why });
  if (!open) return opens("nothing open");
  const sameAlbum = event.albumId !== undefined && event.albumId === open.album;
  // Before its first message: the clock was set back, and the window would stay open for as long.
  const inTime = open.firstAt <= now && now < open.dueAt;
  const inWindow = inTime && (late || !event.whole);
  if (!sameAlbum && !inWindow && !collects) return opens(inTime ? "whole" : "window closed");
  const excess = excessOf(event, open, { rules, late, sameAlbum });
  if (excess !== undefined) return opens(excess);
  return {
    joins: open.intent,
    // Nobody waits for the window of what waits for a turn to end.
    dueAt: collects
      ? Math.max(ownDueAt, open.dueAt)
      : closing(open, ownDueAt, now, late ? LATE_LONGEST_MS : rules.longestMs),
    why: sameAlbum ? "album" : late ? "late" : inWindow ? windowWhy(event, by.window ?? "") : "collect",
  };
}

/** Why a message is too much for an intent; all that came late is answered at once, however many messages it is. */
function excessOf(
  event: MessageEvent,
  open: OpenIntent,
  { rules, late, sameAlbum }: { rules: GatherRules; late: boolean; sameAlbum: boolean },
): string | undefined {
  const messages = sameAlbum ? open.albumMessages : open.messages;
  const characters = sameAlbum ? open.albumCharacters : open.characters;
  if (!late && messages >= rules.messages) return `${rules.messages} messages`;
  if (characters + charactersOf(event) > rules.characters) return `${rules.characters} characters`;
  return undefined;
}

function windowWhy(event: MessageEvent, window: string): string {
  const comments = event.forward ? window === "text" || window === "fragment" : window === "forward";
  // An edit holds the window open like a text.
  return comments ? "comment of a forward" : `window of ${window === "" ? "text" : window}`;
}

/** When the window of an intent closes in which a message was edited: whoever edits is still at it. Pure. */
export function reopened(
  open: Pick<OpenIntent, "firstAt" | "dueAt">,
  now: number,
  rules: GatherRules | undefined,
): number {
  return rules ? closing(open, now + rules.textMs, now, rules.longestMs) : open.dueAt;
}

function closing(
  { firstAt, dueAt }: Pick<OpenIntent, "firstAt" | "dueAt">,
  ownDueAt: number,
  now: number,
  longestMs: number,
): number {
  const latest = Math.max(firstAt + longestMs, now);
  return Math.min(Math.max(ownDueAt, dueAt), latest);
}
