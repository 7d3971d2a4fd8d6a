import type { InboundEvent } from "../../src/core/events.ts";

/** Supergroups and channels count their messages each for itself; their numbers are below this. */
const OWN_COUNT = -1_000_000_000_000;
/** The row of all private chats and basic groups. */
export const OF_ACCOUNT = "account";
const MOST_REMEMBERED = 1_000;

/**
 * The highest message ids that were seen. Telegram numbers the messages of private chats and basic groups in one row, over
 * all chats of the bot, so that an id of one says something of the others.
 */
export class Sightings {
  readonly #highest = new Map<string, number>();

  heard(events: readonly InboundEvent[]): void {
    for (const event of events) if (event.type === "message") this.saw(event.place.chat, Number(event.ref));
  }

  saw(chat: string, id: number): void {
    const row = rowOf(chat);
    if (row === undefined || !Number.isSafeInteger(id)) return;
    const highest = Math.max(id, this.#highest.get(row) ?? 0);
    this.#highest.delete(row);
    this.#highest.set(row, highest);
    const [oldest] = this.#highest.keys();
    if (this.#highest.size > MOST_REMEMBERED && oldest !== undefined) this.#highest.delete(oldest);
  }

  /** What comes from now on in the chat has a higher id. */
  highest(chat: string): number | undefined {
    return this.#highest.get(rowOf(chat) ?? "");
  }
}

/** The row that a chat's messages are numbered in; none for those of business accounts and of guests. */
export function rowOf(chat: string): string | undefined {
  if (!/^-?\d+$/.test(chat)) return undefined;
  return Number(chat) < OWN_COUNT ? chat : OF_ACCOUNT;
}
