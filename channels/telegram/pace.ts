import type { Clock } from "../../src/core/clock.ts";
import type { ChatAddress } from "../../src/core/identity.ts";

type Rate = { readonly everyMs: number; readonly burst: number };

// Telegram's FAQ for bots: about 1 message a second in a chat with short bursts, 20 a minute in a group, 30 a second in
// all. A little less of each; Telegram publishes no exact numbers.
const PRIVATE: Rate = { everyMs: 1_000, burst: 3 };
const GROUP: Rate = { everyMs: Math.ceil(60_000 / 18), burst: 3 };
const EVERYWHERE: Rate = { everyMs: 40, burst: 5 };

/** What a sign of life leaves for messages, in its chat and everywhere. */
const LEFT_IN_CHAT = 1;
const LEFT_EVERYWHERE = 2;

/** A turn that nobody took up in this time is lost. */
const TURN_MS = 2_000;
/** So many chats that are asked to wait within this time, and nothing taken between, are told of a limit on all. */
const SEVERAL = 3;
const TOGETHER_MS = 1_000;
/** Chats that may go on at one moment must not all do it at that moment. */
const JITTER_MS = 500;

/**
 * How fast this bot writes: by chat, in all, and as Telegram asked to wait. Messages always go, and what they take is only
 * counted; what shows life goes when there is room to spare. Chats that are idle are forgotten.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #random: () => number;
  /** The one that was used last stands last. */
  readonly #chats = new Map<string, Lane>();
  #everywhere = new Bucket(EVERYWHERE);
  #blockedUntil = 0;
  #latest = -Infinity;
  /** Those of the last second, one for each chat. */
  #blocks: readonly { readonly chat: string; readonly at: number; readonly until: number }[] = [];

  /** `random` gives numbers from 0 up to but not including 1. */
  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * From when on (epoch ms) a message may go to the chat. Chats that are ready at one moment are given turns behind each
   * other, which they keep for 2 s.
   */
  readyAt({ chat }: ChatAddress): number {
    const now = this.#now();
    const lane = this.#lane(chat, now);
    const ready = Math.max(lane.bucket.readyAt(1), lane.blockedUntil, this.#blockedUntil);
    if (ready > now) return ready;
    lane.turn ??= this.#everywhere.book(now);
    return lane.turn;
  }

  /** Messages go to the chat now, or what shows life, which counts as one. */
  took({ chat }: ChatAddress, messages = 1): void {
    const now = this.#now();
    const lane = this.#lane(chat, now);
    lane.bucket.take(messages, now);
    // The turn was counted when it was given.
    this.#everywhere.take(lane.turn === undefined ? messages : messages - 1, now);
    lane.turn = undefined;
  }

  /** From when on (epoch ms) there is room for what shows life, beside messages that have a turn there. */
  spareAt({ chat }: ChatAddress): number {
    const now = this.#now();
    const lane = this.#lane(chat, now);
    return Math.max(
      lane.turn === undefined ? 0 : lane.turn + TURN_MS,
      lane.bucket.readyAt(1 + LEFT_IN_CHAT),
      this.#everywhere.readyAt(1 + LEFT_EVERYWHERE),
      lane.blockedUntil,
      this.#blockedUntil,
    );
  }

  /** Telegram asked to wait so long before anything goes to the chat again. */
  blocked({ chat }: ChatAddress, waitMs: number): void {
    const now = this.#now();
    const lane = this.#lane(chat, now);
    const until = now + waitMs + Math.floor(this.#random() * JITTER_MS);
    lane.blockedUntil = Math.max(lane.blockedUntil, until);
    const together = this.#blocks.filter(({ at, chat: other }) => now - at <= TOGETHER_MS && other !== chat);
    this.#blocks = [...together, { chat, at: now, until }];
    if (this.#blocks.length < SEVERAL) return;
    // The shortest of them: a chat that has to wait for hours does not hold the others.
    const shortest = Math.min(...this.#blocks.map((block) => block.until));
    this.#blockedUntil = Math.max(this.#blockedUntil, shortest);
  }

  /** Telegram has taken something: it does not hold all chats. */
  passed(): void {
    this.#blocks = [];
  }

  /** A clock that was set back would hold chats for as long: what was counted by the old one is forgotten. */
  #now(): number {
    const now = this.#clock.now();
    if (now < this.#latest) {
      this.#chats.clear();
      this.#everywhere = new Bucket(EVERYWHERE);
      this.#blockedUntil = 0;
      this.#blocks = [];
    }
    this.#latest = now;
    return now;
  }

  #lane(chat: string, now: number): Lane {
    const lane = this.#chats.get(chat) ?? new Lane(chat.startsWith("-") ? GROUP : PRIVATE);
    if (lane.turn !== undefined && lane.turn + TURN_MS < now) lane.turn = undefined;
    this.#chats.delete(chat);
    this.#chats.set(chat, lane);
    this.#forget(chat, now);
    return lane;
  }

  /** Looks at the two that were used longest ago: as a use brings one at most, idle ones become fewer with each. */
  #forget(used: string, now: number): void {
    let looks = 0;
    for (const [chat, lane] of this.#chats) {
      if ((looks += 1) > 2 || chat === used) return;
      if (lane.isIdle(now)) this.#chats.delete(chat);
    }
  }
}

class Lane {
  readonly bucket: Bucket;
  blockedUntil = 0;
  /** When a message of this chat may go that all chats have room for. */
  turn: number | undefined;

  constructor(rate: Rate) {
    this.bucket = new Bucket(rate);
  }

  isIdle(now: number): boolean {
    return this.blockedUntil <= now && this.bucket.fullAt <= now && (this.turn ?? 0) + TURN_MS < now;
  }
}

/** One every `everyMs`, `burst` of them at once; known by the time at which it is full again. */
class Bucket {
  readonly #rate: Rate;
  fullAt = 0;

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** When there are so many in it. */
  readyAt(count: number): number {
    const { everyMs, burst } = this.#rate;
    return this.fullAt - (burst - count) * everyMs;
  }

  take(count: number, now: number): void {
    this.fullAt = Math.max(this.fullAt, now) + count * this.#rate.everyMs;
  }

  /** Takes one as soon as there is one; when that is. */
  book(now: number): number {
    const at = Math.max(now, this.readyAt(1));
    this.take(1, now);
    return at;
  }
}
