import type { Clock } from "../../../src/core/clock.ts";
import { tooMany } from "./refusal.ts";
import { integer, type Call } from "./request.ts";

/** So many messages in any stretch of time of this length. */
export type Rate = { readonly messages: number; readonly perMs: number };

export type FloodLimits = { readonly chat: Rate; readonly group: Rate; readonly everywhere: Rate };

/** Official FAQ: about 1 message a second in a chat with short bursts, 20 a minute in a group, 30 a second in all. */
export const USUAL_LIMITS: FloodLimits = {
  chat: { messages: 3, perMs: 3_000 },
  group: { messages: 20, perMs: 60_000 },
  everywhere: { messages: 30, perMs: 1_000 },
};

const FIRST_WAIT_SECONDS = 3;
const LONGEST_WAIT_SECONDS = 40; // 18–35 s are seen after floods of edits
const COUNTED = /^(?:send(?!ChatAction)|edit|copyMessage|forwardMessage)/;

/** Telegram's limits on what a bot writes, edits and drafts included. Who goes on regardless waits ever longer. */
export class FloodControl {
  readonly #clock: Clock;
  readonly #limits: FloodLimits;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock, limits: FloodLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Counts a call that is about to be carried out. @throws Refusal 429, and then it does not count. */
  check({ method, parameters }: Call): void {
    if (!COUNTED.test(method)) return;
    const cost = messagesIn(parameters["media"]) ?? messagesIn(parameters["message_ids"]) ?? 1;
    const chat = integer(parameters["chat_id"]) ?? 0;
    const { everywhere, chat: perChat, group } = this.#limits;
    const windows = [
      this.#window("everywhere", everywhere),
      this.#window(`chat ${chat}`, perChat),
      ...(chat < 0 ? [this.#window(`group ${chat}`, group)] : []),
    ];
    const now = this.#clock.now();
    const waitMs = Math.max(...windows.map((window) => window.waitMs(now, cost)));
    if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
    for (const window of windows) window.add(now, cost);
  }

  #window(name: string, rate: Rate): Window {
    const window = this.#windows.get(name) ?? new Window(rate);
    this.#windows.set(name, window);
    return window;
  }
}

class Window {
  readonly #rate: Rate;
  /** When the messages were let through that count now, oldest first. */
  #sentAt: number[] = [];
  #closedUntil = 0;
  #strikes = 0;

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** 0 where so many more may go through; else it is closed for so long, counted as one more strike. */
  waitMs(now: number, cost: number): number {
    const { messages, perMs } = this.#rate;
    this.#sentAt = this.#sentAt.filter((at) => at > now - perMs);
    // More than ever fits in is let through where nothing else is, or an album could never be sent.
    const missing = Math.min(cost, messages) - (messages - this.#sentAt.length);
    if (now >= this.#closedUntil && missing <= 0) {
      this.#strikes = 0;
      return 0;
    }
    this.#strikes += 1;
    const penaltyMs = Math.min(FIRST_WAIT_SECONDS * 2 ** (this.#strikes - 1), LONGEST_WAIT_SECONDS) * 1000;
    const untilFreeMs = (this.#sentAt[missing - 1] ?? now - perMs) + perMs - now;
    this.#closedUntil = Math.max(this.#closedUntil, now + Math.max(penaltyMs, untilFreeMs));
    return this.#closedUntil - now;
  }

  add(now: number, cost: number): void {
    for (let i = 0; i < cost; i++) this.#sentAt.push(now);
  }
}

function messagesIn(items: unknown): number | undefined {
  return Array.isArray(items) ? items.length : undefined;
}
