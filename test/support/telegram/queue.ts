import type { Update } from "grammy/types";
import { type Clock, pause, type Timer } from "../../../src/core/clock.ts";
import { Refusal } from "./refusal.ts";

export type PollOptions = {
  readonly offset: number;
  readonly limit: number;
  readonly timeoutSeconds: number;
};

type Queued = {
  readonly id: number;
  readonly expiresAt: number;
  readonly bytes: number;
  readonly update: Update;
};

type WaitingPoll = {
  readonly limit: number;
  readonly answer: (updates: readonly Update[]) => void;
  readonly refuse: (refusal: Refusal) => void;
  readonly timer: Timer;
};

const LONGEST_POLL_SECONDS = 50; // telegram-bot-api: MAX_LONG_POLL_TIMEOUT
const ANSWER_BYTES = 4 << 20;
const UPDATE_BYTES = 512 << 10;
const MOST = { updates: 100_000, bytes: 128 << 20 }; // telegram-bot-api TQueue: what comes then is lost
const CONFLICT_MS = 3_000; // telegram-bot-api fail_query_conflict
const TAIL_SLACK = 10;
const HEAD_SLACK = 100_000;
const WEEK_MS = 7 * 86_400_000;

const KINDS = new Set<string>(
  [
    "message edited_message channel_post edited_channel_post business_connection business_message",
    "edited_business_message deleted_business_messages guest_message stopped_message_generation message_reaction",
    "message_reaction_count inline_query chosen_inline_result callback_query shipping_query pre_checkout_query poll",
    "poll_answer my_chat_member chat_member chat_join_request chat_boost removed_chat_boost purchased_paid_media",
    "managed_bot subscription",
  ].flatMap((line) => line.split(" ")),
);
const ONLY_ON_REQUEST = new Set(["chat_member", "message_reaction", "message_reaction_count"]);

/** Updates that wait for the bot, with the rules of Telegram's getUpdates. Only a higher offset confirms. */
export class UpdateQueue {
  readonly #clock: Clock;
  readonly #antiBusy: boolean;
  readonly #onAdded: (() => void)[] = [];
  #queued: Queued[] = [];
  #nextId: number;
  #lastAddedAt: number;
  #allowed: ReadonlySet<string> | undefined;
  #waiting: WaitingPoll | undefined;
  #lastPoll: { offset: number; at: number } | undefined;
  #wakeScheduled = false;
  #quietUntil = 0;

  constructor(clock: Clock, options: { firstUpdateId?: number; antiBusy?: boolean }) {
    this.#clock = clock;
    this.#antiBusy = options.antiBusy ?? false;
    this.#nextId = options.firstUpdateId ?? randomId();
    this.#lastAddedAt = clock.now();
  }

  /** Undefined when the bot does not want this kind, the update is too large or the queue is full. */
  add(update: Omit<Update, "update_id">): Update | undefined {
    const kind = Object.keys(update)[0] ?? "";
    if (!this.#isAllowed(kind)) return undefined;
    const now = this.#clock.now();
    if (this.#queued.length === 0 && now - this.#lastAddedAt > WEEK_MS) this.#nextId = randomId();
    const whole: Update = { update_id: this.#nextId, ...update };
    const bytes = Buffer.byteLength(JSON.stringify(whole));
    if (bytes > UPDATE_BYTES || this.#isFull(bytes)) return undefined;
    this.#nextId += 1;
    this.#lastAddedAt = now;
    this.#queued.push({ id: whole.update_id, expiresAt: expiry(kind, update, now), bytes, update: whole });
    this.#wake();
    for (const call of this.#onAdded) call();
    return whole;
  }

  /** Calls whenever an update was added. */
  onAdded(call: () => void): void {
    this.#onAdded.push(call);
  }

  /** What is not confirmed yet and has not expired. */
  pending(): readonly Update[] {
    const now = this.#clock.now();
    this.#queued = this.#queued.filter((item) => item.expiresAt > now);
    return this.#queued.map((item) => item.update);
  }

  /** Takes one out that a webhook has accepted. */
  confirm(updateId: number): void {
    this.#queued = this.#queued.filter((item) => item.id !== updateId);
  }

  drop(): void {
    this.#queued = [];
  }

  /** Sticks until it is changed; undefined leaves it as it is. */
  allow(kinds: unknown): void {
    if (!Array.isArray(kinds)) return;
    const known = kinds.map(String).filter((kind) => KINDS.has(kind));
    this.#allowed = known.length === 0 ? undefined : new Set(known);
  }

  allowed(): readonly string[] | undefined {
    return this.#allowed && [...this.#allowed];
  }

  /** @throws Refusal 409 when another poll takes this one's place; the signal aborts when the client hangs up. */
  async poll(asked: PollOptions, signal: AbortSignal): Promise<readonly Update[]> {
    let limit = asked.limit >= 1 && asked.limit <= 100 ? asked.limit : 100;
    let seconds = Math.min(Math.max(asked.timeoutSeconds, 0), LONGEST_POLL_SECONDS);
    const now = this.#clock.now();
    if (this.#antiBusy && this.#lastPoll?.offset === asked.offset) {
      if (now - this.#lastPoll.at < 3_000) seconds = Math.max(seconds, 3);
      if (now - this.#lastPoll.at < 500) limit = 1;
    }
    this.#lastPoll = { offset: asked.offset, at: now };
    this.#confirmBelow(asked.offset);
    const ready = this.#take(limit);
    if (ready.length > 0 || seconds === 0) return ready;
    this.endPoll("terminated by other getUpdates request; make sure that only one bot instance is running");
    return new Promise((resolve, reject) => {
      const poll: WaitingPoll = {
        limit,
        answer: resolve,
        refuse: reject,
        timer: this.#clock.after(seconds * 1000, () => this.#finish(poll, [])),
      };
      this.#waiting = poll;
      signal.addEventListener("abort", () => this.#finish(poll, []), { once: true });
    });
  }

  /** Ends the poll that waits, if one does, with a 409. */
  endPoll(why: string): void {
    const poll = this.#waiting;
    if (!poll) return;
    this.#waiting = undefined;
    poll.timer.cancel();
    // Never rejects: it waits, and makes an error.
    void this.conflict(why).then(poll.refuse);
  }

  /** The 409 that a poll is to be answered with; soon after another one it comes 3 s late, where that is switched on. */
  async conflict(why: string): Promise<Refusal> {
    const now = this.#clock.now();
    if (this.#antiBusy && now < this.#quietUntil) await pause(this.#clock, CONFLICT_MS);
    else this.#quietUntil = now + CONFLICT_MS;
    return new Refusal(409, `Conflict: ${why}`);
  }

  #isFull(moreBytes: number): boolean {
    if (this.#queued.length >= MOST.updates) return true;
    return this.#queued.reduce((sum, { bytes }) => sum + bytes, moreBytes) > MOST.bytes;
  }

  #confirmBelow(offset: number): void {
    this.pending();
    if (offset < 0) {
      this.#queued = this.#queued.slice(offset);
      return;
    }
    const head = this.#queued[0]?.id ?? this.#nextId;
    // A stale offset of another life of the queue confirms nothing: the answer starts at the head.
    if (offset > this.#nextId + TAIL_SLACK || offset < head - HEAD_SLACK) return;
    this.#queued = this.#queued.filter((item) => item.id >= offset);
  }

  #take(limit: number): readonly Update[] {
    const updates = this.pending().slice(0, limit);
    let bytes = 0;
    const tooMany = updates.findIndex((update) => (bytes += JSON.stringify(update).length) > ANSWER_BYTES);
    return tooMany < 0 ? updates : updates.slice(0, Math.max(tooMany, 1));
  }

  // Updates that are added in one go are answered in one go.
  #wake(): void {
    if (this.#wakeScheduled) return;
    this.#wakeScheduled = true;
    queueMicrotask(() => {
      this.#wakeScheduled = false;
      if (this.#waiting) this.#finish(this.#waiting, this.#take(this.#waiting.limit));
    });
  }

  #finish(poll: WaitingPoll, updates: readonly Update[]): void {
    if (this.#waiting !== poll) return;
    this.#waiting = undefined;
    poll.timer.cancel();
    poll.answer(updates);
  }

  #isAllowed(kind: string): boolean {
    return this.#allowed ? this.#allowed.has(kind) : !ONLY_ON_REQUEST.has(kind);
  }
}

function randomId(): number {
  return 100_000_000 + Math.floor(Math.random() * 800_000_000);
}

function expiry(kind: string, update: Omit<Update, "update_id">, now: number): number {
  if (["callback_query", "shipping_query", "pre_checkout_query"].includes(kind)) return now + 150_000;
  if (kind === "inline_query") return now + 30_000;
  if (kind === "chosen_inline_result") return now + 600_000;
  if (kind === "business_connection") return now + 86_400_000; // its date is that of the connection
  const body: unknown = Object.values(update)[0];
  const { date, edit_date = date } = (body ?? {}) as { date?: unknown; edit_date?: unknown }; // whatever it is, read as an object
  return (typeof edit_date === "number" ? edit_date * 1000 : now) + 86_400_000;
}
