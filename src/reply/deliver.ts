import type { Channel, MediaForm, Piece, PieceBody, PlatformId } from "../core/channel.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { asError, GatewayError } from "../core/errors.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import { say } from "../core/sentences.ts";
import type { Rendered } from "../core/tree.ts";
import type { Database } from "../store/database.ts";
import { insist } from "../store/insist.ts";
import {
  endPiece,
  markSending,
  type NewPiece,
  nextPiece,
  type OpenPiece,
  parkChat,
  replanPiece,
} from "../store/pieces.ts";
import { planWords } from "./plan.ts";

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 5 * 60_000;
/** What could not be written at all is tried for this long. */
const GIVE_UP_MS = 24 * 3_600_000;
/** A piece that ends the process each time it is sent is let go after this many times. */
const MOST_ATTEMPTS = 10;
/** A send that has not been answered by then is cut off, and its outcome is unknown. */
const SEND_MS = 120_000;
/** So long may a send that was cut off take to say whether it was written. */
const LAST_WORD_MS = 2_000;

export type Deliver = {
  /** Sends what a chat has to be sent, strictly in order; gives the time (epoch ms) to come again, if there is one. */
  run(chat: ChatId): Promise<number | undefined>;
};

/**
 * The states of a piece (DESIGN.md, States): committed as `sending` before its first byte, and ended by what the
 * platform said. `failed` and `unknown` let the next piece go; a wait and a closed chat hold the chat.
 */
export function deliver(by: {
  readonly database: Database;
  readonly channel: (id: ChannelId) => Channel | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the gateway must end: what is being sent is cut off, and nothing more is begun. */
  readonly cutOff: AbortSignal;
}): Deliver {
  const { database, clock, log } = by;
  const writing = { clock, log, closing: by.cutOff };
  const forms = new FormsTried();

  async function run(chat: ChatId): Promise<number | undefined> {
    for (;;) {
      const piece = await nextPiece(database, chat);
      if (!piece || by.cutOff.aborted) return undefined;
      const channel = by.channel(piece.to.channel);
      if (!channel) return undefined; // its connection is off; opening it wakes the chat
      if (piece.state === "sending") {
        // Found as it was when a process ended: whether the platform took it is not known.
        await unknown(piece, channel, new Error("the process ended while it was sent"));
        continue;
      }
      const now = clock.now();
      // A piece of the future says that the clock was set back, which is no reason to wait.
      if (piece.notBefore > now && piece.createdAt <= now) return piece.notBefore;
      const waitUntil = await send(piece, channel);
      if (waitUntil !== undefined) return waitUntil;
    }
  }

  /** Gives the time to come again when the chat has to wait. */
  async function send(open: OpenPiece, channel: Channel): Promise<number | undefined> {
    await markSending(database, open.id);
    const attempt = { number: open.attempts + 1, ...(open.form === "" ? {} : { form: open.form }) };
    let ids: readonly PlatformId[];
    try {
      ids = await cutOffAfter(SEND_MS, (signal) => channel.send(toPiece(open), attempt, signal));
    } catch (thrown) {
      const error = asError(thrown);
      return await insist(() => failed(open, channel, error), writing);
    }
    // Outside the try: a commit that fails says nothing of a send that the platform has taken.
    await insist(() => endPiece(database, open.id, { state: "sent", ids, now: clock.now() }), writing);
    forms.ended(open.id);
    return undefined;
  }

  /**
   * A channel that does not heed its signal is left behind with an unknown outcome: its chat would be deaf for ever, and
   * the stop would not end.
   */
  async function cutOffAfter<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const cut = new AbortController();
    const end = (): void => cut.abort(by.cutOff.reason);
    const late = clock.after(ms, () =>
      cut.abort(new Error(`the platform did not answer within ${ms / 1_000} s`)),
    );
    let lastWord: Timer | undefined;
    by.cutOff.addEventListener("abort", end, { once: true });
    try {
      return await new Promise<T>((resolve, reject) => {
        cut.signal.addEventListener("abort", () => {
          lastWord = clock.after(LAST_WORD_MS, () => reject(asError(cut.signal.reason)));
        });
        if (by.cutOff.aborted) end();
        work(cut.signal).then(resolve, reject);
      });
    } finally {
      late.cancel();
      lastWord?.cancel();
      by.cutOff.removeEventListener("abort", end);
    }
  }

  async function failed(open: OpenPiece, channel: Channel, error: Error): Promise<number | undefined> {
    const now = clock.now();
    const code = error instanceof GatewayError ? error.code : undefined;
    const { retryAfterMs, stepDown } = error instanceof GatewayError ? error : {};
    switch (code) {
      case "send.not_written":
      case "send.rate_limited": {
        if (code === "send.not_written" && now - open.createdAt > GIVE_UP_MS) break;
        const waitMs = retryAfterMs ?? Math.min(FIRST_RETRY_MS * 2 ** open.attempts, LONGEST_RETRY_MS);
        log.warn(
          { chat: open.chat, piece: open.id, code, waitMs },
          "the platform asks to wait or is not reached",
        );
        await replanPiece(database, open.id, { notBefore: now + waitMs, error: code });
        return now + waitMs;
      }
      case "send.chat_closed":
        log.warn(
          { chat: open.chat, piece: open.id },
          "the chat is closed to us; what is to be sent waits for a message",
        );
        await parkChat(database, open.chat, code);
        return undefined;
      case "send.refused":
        if (stepDown === undefined || !forms.isNew(open, stepDown)) break;
        await replanPiece(database, open.id, { notBefore: 0, error: code, form: stepDown });
        return undefined;
      default:
        await unknown(open, channel, error);
        return undefined;
    }
    log.error({ chat: open.chat, piece: open.id, err: error }, "a piece could not be sent");
    const notice = noticeFor(open, channel);
    await endPiece(database, open.id, { state: "failed", error: code, now, ...(notice ? { notice } : {}) });
    forms.ended(open.id);
    return undefined;
  }

  /**
   * The platform may or may not have taken it. Where a repeat has no second effect it is simply sent again; else a
   * text is sent once more, marked, for a missing answer is worse than a double one; media and buttons never are.
   */
  async function unknown(open: OpenPiece, channel: Channel, error: Error): Promise<void> {
    if (channel.idempotent && open.attempts < MOST_ATTEMPTS) {
      const waitMs = Math.min(FIRST_RETRY_MS * 2 ** Math.max(open.attempts - 1, 0), LONGEST_RETRY_MS);
      const notBefore = open.state === "sending" ? 0 : clock.now() + waitMs;
      return await replanPiece(database, open.id, { notBefore, error: "unknown outcome" });
    }
    log.warn({ chat: open.chat, piece: open.id, err: error }, "the outcome of a send is unknown");
    if (open.body.kind === "text" && !open.again) {
      return await replanPiece(database, open.id, { notBefore: 0, error: "unknown outcome", again: true });
    }
    await endPiece(database, open.id, { state: "unknown", error: "unknown outcome", now: clock.now() });
    forms.ended(open.id);
  }

  return { run };
}

/** Which simpler forms a piece was tried in: a channel that names one and then the other again would never end. */
class FormsTried {
  readonly #tried = new Map<number, Set<string>>();

  isNew({ id, form }: OpenPiece, next: string): boolean {
    const tried = this.#tried.get(id) ?? new Set<string>();
    tried.add(form);
    this.#tried.set(id, tried);
    return !tried.has(next);
  }

  ended(id: number): void {
    this.#tried.delete(id);
  }
}

function toPiece(open: OpenPiece): Piece {
  const { id, to, replyTo } = open;
  const body = open.again ? marked(open.body) : open.body;
  return { id, to, body, ...(replyTo === "" ? {} : { replyTo }) };
}

function marked(body: PieceBody): PieceBody {
  if (body.kind !== "text") return body;
  return { kind: "text", rendered: prefixed(`${say("piece.again")}\n`, body.rendered) };
}

function prefixed(words: string, { text, marks }: Rendered): Rendered {
  return {
    text: words + text,
    marks: marks.map((mark) => ({ ...mark, offset: mark.offset + words.length })),
  };
}

/** What the chat is told of a piece that was refused; a refused notice is not told of again. */
function noticeFor(open: OpenPiece, channel: Channel): NewPiece | undefined {
  if (open.turn === 0) return undefined;
  const [body] = planWords(say("piece.failed", "en", { what: inWords(open.body) }), channel);
  return body && { chat: open.chat, to: open.to, turn: 0, seq: 0, body };
}

function inWords(body: PieceBody): string {
  switch (body.kind) {
    case "text":
      return "a text";
    case "album":
      return "an album";
    case "media":
      return NAMES[body.as];
  }
}

const NAMES: Readonly<Record<MediaForm, string>> = {
  image: "a picture",
  animation: "an animation",
  video: "a video",
  audio: "a recording",
  voice: "a voice note",
  file: "a file",
};
