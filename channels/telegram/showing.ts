import { randomBytes, randomInt } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Live as Wanted } from "../../src/core/channel.ts";
import type { Timer } from "../../src/core/clock.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import { plainText } from "../../src/core/rendered.ts";
import type { Rendered } from "../../src/core/tree.ts";
import { LIMITS } from "./limits.ts";
import { destination, guestQuery } from "./place.ts";
import { STOP } from "./presses.ts";

/** How an answer is shown while it is written: as a draft, by editing a message, or not, with a sign that we are at it. */
export type Way = "draft" | "edit" | "none";

/** Bot API sendMessageDraft: a draft is shown for 30 s. */
const KEEP_MS = 20_000;
/** Bot API sendChatAction: shown for 5 s or less. */
const TYPING_MS = 4_000;

/** What is shown of one turn. */
export class Showing {
  readonly to: ChatAddress;
  /** Bot API sendMessageDraft: non-zero; Telegram gives it back when the person presses its Stop. */
  readonly draftId = randomInt(1, 2 ** 31);
  /** What the Stop below a message of ours carries. */
  readonly button = `${STOP}${randomBytes(6).toString("base64url")}`;
  readonly over = new AbortController();
  /** Undefined as long as there was nothing to show. */
  way: Way | undefined;
  /** The message that shows it. */
  message: number | undefined;
  /** When the next text may be shown. */
  readyAt = 0;
  /** Runs once the turn is over, until the message is taken away; it is late when that should have happened. */
  waiting: Timer | undefined;
  isLate = false;
  #wanted = plainText("");
  #shown = plainText("");
  #shownAt = 0;
  #typedAt = -Infinity;

  constructor(to: ChatAddress) {
    this.to = to;
  }

  /** What is to be shown, as far as it goes into one message. */
  get wanted(): Rendered {
    return this.#wanted;
  }

  /** All of the answer so far. */
  want(answer: Rendered): void {
    this.#wanted = beginning(answer);
  }

  shown(answer: Rendered, now: number): void {
    this.#shown = answer;
    this.#shownAt = now;
  }

  typed(now: number): void {
    this.#typedAt = now;
  }

  /** What is to be shown now, if anything. */
  next(now: number): "text" | "typing" | undefined {
    const isDraft = this.way === "draft";
    const isNew =
      !isDeepStrictEqual(this.#wanted, this.#shown) || (isDraft && now - this.#shownAt >= KEEP_MS);
    if (this.way !== "none" && this.#wanted.text !== "" && isNew) return "text";
    // A draft says by itself that it goes on.
    if (isDraft && this.#shown.text !== "") return undefined;
    return now - this.#typedAt >= TYPING_MS ? "typing" : undefined;
  }
}

/** How an answer can be shown at a place at all. Drafts are for private chats alone. */
export function wayTo(to: ChatAddress, wanted: Wanted | undefined, takesDrafts: boolean): Way {
  // A guest has one answer. Of a business account's messages, and a channel's direct ones, a bot may not be able to take
  // its own away again.
  if (guestQuery(to) !== undefined) return "none";
  const { business_connection_id: business, direct_messages_topic_id: direct } = destination(to);
  if (business !== undefined || direct !== undefined) return "none";
  return isGroup(to) || wanted === "edit" || !takesDrafts ? "edit" : "draft";
}

/** A group or a channel: Telegram's number of it is negative. */
export function isGroup({ chat }: ChatAddress): boolean {
  return chat.startsWith("-");
}

/** What is beyond the length of a message is shown with the answer. */
function beginning({ text, marks }: Rendered): Rendered {
  const cut = text.slice(0, LIMITS.textLength);
  const shown = (/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut).trimEnd();
  const within = marks
    .filter(({ offset }) => offset < shown.length)
    .map((mark) => ({ ...mark, length: Math.min(mark.length, shown.length - mark.offset) }));
  return { text: shown, marks: within };
}
