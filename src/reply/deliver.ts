import type { Channel, MediaForm, PieceBody, PlatformId } from "../core/channel.ts";
import { type Clock, pause } from "../core/clock.ts";
import { asError, GatewayError, hasCode } from "../core/errors.ts";
import { formsOf } from "../core/forms.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Meter } from "../core/meter.ts";
import type { Tracer } from "../core/tracing.ts";
import { say } from "../core/sentences.ts";
import type { Database } from "../store/database.ts";
import { type DeliveryHold, holdDelivery, leaveDelivery, renewDelivery } from "../store/delivery-holds.ts";
import { insist } from "../store/insist.ts";
import { HOLD_MS, keepRenewed } from "../store/renew.ts";
import { type NewPiece, nextPiece, type OpenPiece } from "../store/pieces.ts";
import { endPiece, markSending, parkChat, replanPiece } from "../store/sending.ts";
import { asSent, attemptOf } from "./as-sent.ts";
import { backOffMs, GIVE_UP_MS } from "./attempts.ts";
import { answered } from "./cut-off.ts";
import { planWords } from "./plan.ts";
import { tellOf } from "./telling.ts";
import { reconcile } from "./reconcile.ts";

/**
 * What was on its way to a platform that can be searched is given this long to arrive before it is looked for, and so is
 * what people have said since then, behind which it can be found.
 */
const SETTLING_MS = 3_000;

/** Another process sends there: what it has not seen when it looked last is looked for so soon. */
const HELD_AGAIN_MS = 500;

/** Well within the time that a right to send holds after its last renewal. */
const MOST_STALL_MS = 12_000;

/** Between two of the last pieces of a chat before the process ends. */
const LAST_WAIT_MS = 5_000;

export type Deliver = {
  /** Sends what a chat has to be sent, strictly in order; gives the time (epoch ms) to come again, if there is one. */
  run(chat: ChatId): Promise<number | undefined>;
  /** The last run before the process ends: it waits for the platform's pace, but for nothing that takes longer. */
  runOut(chat: ChatId): Promise<void>;
};

/**
 * The states of a piece (DESIGN.md, States): committed as `sending` before its first byte, and ended by what the
 * platform said, or by what can be found out where it said nothing. `failed` and `unknown` let the next piece go; a wait
 * and a closed chat hold the chat.
 */
export function deliver(by: {
  readonly database: Database;
  readonly channel: (id: ChannelId) => Channel | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Names this process where others may send as well; one that is alone needs no right to. */
  readonly owner?: string;
  /** Where sends are counted and told of, if anywhere. */
  readonly meter?: Meter;
  readonly tracer?: Tracer;
  /** Aborts when the gateway must end: what is being sent is cut off, and nothing more is begun. */
  readonly cutOff: AbortSignal;
}): Deliver {
  const { database, clock, log } = by;
  const writing = { clock, log, closing: by.cutOff };
  const forms = new FormsTried();
  const unknowns = reconcile(by);
  const startedAt = clock.now();

  /** As long as it sends in a chat no other process does. */
  async function run(chat: ChatId): Promise<number | undefined> {
    const { owner } = by;
    if (owner === undefined) return await sendAll(chat, undefined);
    const now = clock.now();
    const hold = await holdDelivery(database, chat, { owner, now, until: now + HOLD_MS });
    if (!hold) return now + HELD_AGAIN_MS;
    const renewal = keepRenewed(
      by,
      (until) => renewDelivery(database, hold, until),
      () => log.warn({ chat }, "another process sends in a chat by now"),
    );
    try {
      return await sendAll(chat, hold);
    } catch (error) {
      if (!hasCode(error, "store.hold_lost")) throw error;
      return clock.now() + HELD_AGAIN_MS; // what was cut off is theirs to find out
    } finally {
      renewal.cancel();
      await leaveDelivery(database, hold);
    }
  }

  async function sendAll(chat: ChatId, hold: DeliveryHold | undefined): Promise<number | undefined> {
    for (let inDoubt = true; ;) {
      if (by.cutOff.aborted) return undefined;
      if (inDoubt) {
        const { at, left } = await unknowns.doubts(chat, hold);
        if (at !== undefined) return at;
        inDoubt = left;
      }
      const piece = await nextPiece(database, chat, hold);
      if (!piece) return undefined;
      const channel = by.channel(piece.to.channel);
      if (!channel) return undefined; // its connection is off; opening it wakes the chat
      const now = clock.now();
      const isLost = piece.state === "sending";
      const notBefore = Math.max(piece.notBefore, isLost && channel.find ? startedAt + SETTLING_MS : 0);
      // A piece of the future says that the clock was set back, which is no reason to wait.
      if (notBefore > now && piece.createdAt <= now) return notBefore;
      let at: number | undefined;
      if (isLost) {
        at = await unknowns.lost(piece, channel);
        forms.ended(piece.id);
        inDoubt = true;
      } else {
        const readyAt = channel.readyAt?.(piece.to) ?? now;
        if (readyAt > now) return readyAt;
        at = await send(piece, channel);
        inDoubt ||= piece.again;
      }
      if (at !== undefined) return at;
    }
  }

  async function runOut(chat: ChatId): Promise<void> {
    for (;;) {
      const waitMs = ((await run(chat)) ?? Infinity) - clock.now();
      if (waitMs > LAST_WAIT_MS) return;
      await pause(clock, waitMs, by.cutOff);
    }
  }

  /** Gives the time to come again when the chat has to wait. A send whose outcome is not known is left as `sending`. */
  async function send(open: OpenPiece, channel: Channel): Promise<number | undefined> {
    const now = clock.now();
    const settledAt = channel.find ? now + SETTLING_MS : 0;
    await markSending(database, open.id, { now, settledAt }, open.hold);
    // It has stalled right here, and others may have found the piece by now: they cannot know that nothing was sent.
    if (open.hold && clock.now() - now > MOST_STALL_MS)
      throw new GatewayError("store.hold_lost", `the process stalled before a piece in chat ${open.chat}`);
    let ids: readonly PlatformId[];
    try {
      ids = await answered(by, (signal) => channel.send(asSent(open), attemptOf(open), signal));
    } catch (thrown) {
      const error = asError(thrown);
      tellOf(by, open, now, error);
      return await insist(() => failed(open, channel, error), writing);
    }
    tellOf(by, open, now);
    // Outside the try: a commit that fails says nothing of a send that the platform has taken.
    await insist(() => sent(open, channel, ids), writing);
    forms.ended(open.id);
    return undefined;
  }

  async function sent(open: OpenPiece, channel: Channel, ids: readonly PlatformId[]): Promise<void> {
    const now = clock.now();
    // Where it stands now is known, and with that where its first sending must stand.
    const inDoubt = open.again && channel.find !== undefined;
    await endPiece(
      database,
      open.id,
      inDoubt ? { state: "unknown", ids, error: "sent again", now, inDoubt } : { state: "sent", ids, now },
      open.hold,
    );
  }

  async function failed(open: OpenPiece, channel: Channel, error: Error): Promise<number | undefined> {
    const now = clock.now();
    const code = error instanceof GatewayError ? error.code : undefined;
    const { retryAfterMs, stepDown } = error instanceof GatewayError ? error : {};
    switch (code) {
      case "send.not_written":
      case "send.rate_limited": {
        if (code === "send.not_written" && now - open.createdAt > GIVE_UP_MS) break;
        const waitMs = retryAfterMs ?? backOffMs(open.attempts);
        log.warn(
          { chat: open.chat, piece: open.id, code, waitMs },
          "the platform asks to wait or is not reached",
        );
        await replanPiece(database, open.id, { notBefore: now + waitMs, error: code }, open.hold);
        return now + waitMs;
      }
      case "send.chat_closed":
        log.warn(
          { chat: open.chat, piece: open.id },
          "the chat is closed to us; what is to be sent waits for a message",
        );
        await parkChat(database, open.chat, code, open.hold);
        return undefined;
      case "send.unanswered":
        log.warn({ chat: open.chat, piece: open.id, err: error }, "it is not known whether a piece was sent");
        await endPiece(database, open.id, { state: "unknown", error: code, now }, open.hold);
        forms.ended(open.id);
        return undefined;
      case "send.refused":
        if (stepDown === undefined || !forms.isNew(open, stepDown)) break;
        await replanPiece(
          database,
          open.id,
          {
            notBefore: 0,
            error: code,
            form: stepDown,
            // It gives up the place of an earlier message: `Piece.replaces`.
            anew: formsOf({ form: stepDown }).has("new"),
          },
          open.hold,
        );
        return undefined;
      default:
        log.warn({ chat: open.chat, piece: open.id, err: error }, "the outcome of a send is unknown");
        return undefined;
    }
    log.error({ chat: open.chat, piece: open.id, err: error }, "a piece could not be sent");
    const notice = noticeFor(open, channel);
    await endPiece(
      database,
      open.id,
      {
        state: "failed",
        error: code,
        now,
        ...(notice ? { further: notice } : {}),
      },
      open.hold,
    );
    forms.ended(open.id);
    return undefined;
  }

  return { run, runOut };
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
