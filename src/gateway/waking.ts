import type { Clock } from "../core/clock.ts";
import type { Dispatcher } from "../core/dispatcher.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Database } from "../store/database.ts";
import { placeOfAttachment, placeOfChat } from "../store/places.ts";

/** More chats than have something to be sent at once. */
const KNOWN = 10_000;

/**
 * Wakes work by what it is about; now, where no time (epoch ms) is given. What a connection has to do is woken where it is
 * open: with several processes that is asked of the store, and a wake-up that is lost by that is only late.
 */
export class Waking {
  readonly #dispatcher: Dispatcher;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #places: Places | undefined;
  readonly #known = new Map<ChatId, ChannelId>();
  readonly #lookingUp = new Set<Promise<void>>();

  constructor(by: {
    readonly dispatcher: Dispatcher;
    readonly clock: Clock;
    readonly log: Log;
    /** Absent where all connections are this process's. */
    readonly places?: Places | undefined;
  }) {
    this.#dispatcher = by.dispatcher;
    this.#clock = by.clock;
    this.#log = by.log;
    this.#places = by.places;
  }

  fetch(attachment: number, place?: ChannelId): void {
    this.#placed("fetch", String(attachment), undefined, place, (places) => places.ofAttachment(attachment));
  }

  deliver(chat: ChatId, at?: number, place?: ChannelId): void {
    this.#placed("deliver", String(chat), at, place ?? this.#known.get(chat), async (places) => {
      const found = await places.ofChat(chat);
      if (this.#known.size >= KNOWN) this.#known.clear();
      if (found !== undefined) this.#known.set(chat, found);
      return found;
    });
  }

  turn(chat: ChatId, at = this.#clock.now()): void {
    this.#dispatcher.wake("turn", String(chat), at);
  }

  task(row: number, at = this.#clock.now()): void {
    this.#dispatcher.wake("task", String(row), at);
  }

  schedule(id: number, at = this.#clock.now()): void {
    this.#dispatcher.wake("schedule", String(id), at);
  }

  memory(key: string, at = this.#clock.now()): void {
    this.#dispatcher.wake("memory", key, at);
  }

  forget(chat: ChatId, at = this.#clock.now()): void {
    this.#dispatcher.wake("forget", String(chat), at);
  }

  /** Resolves when what was woken by now is woken: work that waits for it before it ends leaves nothing to the sweep. */
  async settled(): Promise<void> {
    await Promise.all(this.#lookingUp);
  }

  /** A connection has another name now. */
  renamed(): void {
    this.#known.clear();
  }

  #placed(
    topic: "fetch" | "deliver",
    key: string,
    at = this.#clock.now(),
    place: ChannelId | undefined,
    find: (places: Places) => Promise<ChannelId | undefined>,
  ): void {
    if (!this.#places) return this.#dispatcher.wake(topic, key, at);
    if (place !== undefined) return this.#dispatcher.wake(topic, key, at, place);
    const looking = this.#wakeWhere(topic, key, at, find(this.#places));
    this.#lookingUp.add(looking);
    void looking.finally(() => this.#lookingUp.delete(looking)); // it never rejects
  }

  /** Never rejects. */
  async #wakeWhere(
    topic: "fetch" | "deliver",
    key: string,
    at: number,
    finding: Promise<ChannelId | undefined>,
  ): Promise<void> {
    try {
      const place = await finding;
      if (place !== undefined) this.#dispatcher.wake(topic, key, at, place);
    } catch (err) {
      this.#log.debug({ topic, err }, "a wake-up was lost, the sweep finds it");
    }
  }
}

/** As the store knows it. */
export function placesIn({ db }: Database): Places {
  return {
    ofChat: (chat) => placeOfChat(db, chat),
    ofAttachment: (attachment) => placeOfAttachment(db, attachment),
  };
}

/** Which connection something is of. */
export type Places = {
  ofChat(chat: ChatId): Promise<ChannelId | undefined>;
  ofAttachment(attachment: number): Promise<ChannelId | undefined>;
};
