import type { Clock } from "../../../../src/core/clock.ts";
import type { WhatsAppSettings } from "../../settings.ts";

/** So many may go at once to all chats together, as one does who answers, or what goes in 5 s where that is more. */
const BURST = 5;
/** A turn that nobody took up in this time is lost. */
const TURN_MS = 2_000;
/** Machines are known by their even beat: up to this part of it is added. */
const JITTER = 0.3;
/** WhatsApp does not say how long it wants to be left alone (429): this, and twice as long each further time. */
const FIRST_BLOCK_MS = 60_000;
const LONGEST_BLOCK_MS = 15 * 60_000;

/**
 * How fast this account writes: by chat, and in all. Nobody knows WhatsApp's limits, and who is seen as a machine is
 * banned; so messages wait here. Chats that are idle are forgotten.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #chatMs: number;
  readonly #everyMs: number;
  readonly #burst: number;
  /** When a chat may be written to again; the one that was used last stands last. */
  readonly #chats = new Map<string, Lane>();
  /** When the room for a burst is whole again. */
  #fullAt = 0;
  #blockedUntil = 0;
  #blockMs = FIRST_BLOCK_MS;
  #latest = -Infinity;

  /** @param random gives numbers from 0 up to but not including 1. */
  constructor(
    { chatSeconds, perMinute }: Pick<WhatsAppSettings, "chatSeconds" | "perMinute">,
    clock: Clock,
    random: () => number,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#chatMs = chatSeconds * 1_000;
    this.#burst = Math.max(1, Math.floor(Math.max(Math.min(BURST, perMinute / 4), perMinute / 12)));
    // With a burst in it, no minute has more than it may.
    this.#everyMs = 60_000 / Math.max(1, perMinute - this.#burst);
  }

  /**
   * From when on (epoch ms) a message may go to the chat. Chats that are ready at one moment are given turns behind each
   * other, which they keep for 2 s.
   */
  readyAt(chat: string): number {
    const now = this.#now();
    const lane = this.#lane(chat, now);
    const ready = Math.max(lane.readyAt, this.#blockedUntil);
    if (ready > now) return Math.ceil(ready);
    lane.turn ??= this.#book(now);
    return lane.turn;
  }

  /** Messages go to the chat now. */
  took(chat: string, messages = 1): void {
    const now = this.#now();
    const lane = this.#lane(chat, now);
    lane.readyAt = Math.max(lane.readyAt, now) + messages * this.#withJitter(this.#chatMs);
    // The turn was counted when it was given.
    this.#take(lane.turn === undefined ? messages : messages - 1, now);
    lane.turn = undefined;
  }

  /** The line is there again: what has waited must not come all at once. */
  reconnected(): void {
    this.#oneByOneFrom(this.#now());
  }

  /** WhatsApp has refused a message as too many. How long nothing goes, in ms. */
  blocked(): number {
    const now = this.#now();
    // Several are on their way when the first is refused.
    if (this.#blockedUntil <= now) {
      this.#blockedUntil = now + Math.ceil(this.#withJitter(this.#blockMs));
      this.#blockMs = Math.min(this.#blockMs * 2, LONGEST_BLOCK_MS);
      // Where a burst was too many, the next one would be as well.
      this.#oneByOneFrom(this.#blockedUntil);
    }
    return this.#blockedUntil - now;
  }

  /** WhatsApp has taken a message. */
  passed(): void {
    if (this.#blockedUntil <= this.#now()) this.#blockMs = FIRST_BLOCK_MS;
  }

  /** A clock that was set back would hold chats for as long: what was counted by the old one is forgotten. */
  #now(): number {
    const now = this.#clock.now();
    if (now < this.#latest) {
      this.#chats.clear();
      this.#fullAt = 0;
      this.#blockedUntil = 0;
    }
    this.#latest = now;
    return now;
  }

  /** There is no room for a burst then. */
  #oneByOneFrom(at: number): void {
    for (const lane of this.#chats.values()) lane.turn = undefined;
    this.#fullAt = Math.max(this.#fullAt, at + (this.#burst - 1) * this.#everyMs);
  }

  #book(now: number): number {
    const at = Math.max(now, this.#fullAt - (this.#burst - 1) * this.#everyMs);
    this.#take(1, now);
    return Math.ceil(at);
  }

  #take(messages: number, now: number): void {
    for (let n = 0; n < messages; n += 1)
      this.#fullAt = Math.max(this.#fullAt, now) + this.#withJitter(this.#everyMs);
  }

  #withJitter(ms: number): number {
    return ms * (1 + JITTER * this.#random());
  }

  #lane(chat: string, now: number): Lane {
    const lane = this.#chats.get(chat) ?? { readyAt: 0, turn: undefined };
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
      if (lane.readyAt <= now && (lane.turn ?? 0) + TURN_MS < now) this.#chats.delete(chat);
    }
  }
}

type Lane = {
  readyAt: number;
  /** When a message of this chat may go that all chats have room for. */
  turn: number | undefined;
};
