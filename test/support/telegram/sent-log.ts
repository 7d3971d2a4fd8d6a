import type { Message, MessageEntity } from "grammy/types";
import { systemClock } from "../../../src/core/clock.ts";
import type { Call } from "./request.ts";

export type MediaName =
  | "photo"
  | "document"
  | "audio"
  | "voice"
  | "video"
  | "video_note"
  | "animation"
  | "sticker";

export type SentMedia = {
  readonly kind: MediaName;
  readonly fileId: string;
  readonly bytes: Buffer;
  readonly fileName: string | undefined;
  readonly mimeType: string | undefined;
};

/** A message of the bot as it was accepted; later edits and deletions do not change it (`shown` tells those). */
export type SentMessage = {
  readonly method: string;
  readonly chatId: number;
  readonly messageId: number;
  /** Epoch ms of the emulator's clock. */
  readonly at: number;
  /** As the server keeps it: normalised and trimmed. */
  readonly text: string | undefined;
  /** Of the text or of the caption. */
  readonly entities: readonly MessageEntity[];
  readonly caption: string | undefined;
  readonly media: SentMedia | undefined;
  readonly mediaGroupId: string | undefined;
  readonly threadId: number | undefined;
  /** The message that it answers, where that was found. */
  readonly replyTo: number | undefined;
  readonly replyParameters: unknown;
  readonly silent: boolean;
  readonly linkPreview: unknown;
  readonly replyMarkup: unknown;
  readonly message: Message;
};

export type ChatAction = {
  readonly chatId: number;
  readonly threadId: number | undefined;
  readonly action: string;
  readonly at: number;
};

export type Draft = {
  readonly chatId: number;
  readonly threadId: number | undefined;
  readonly draftId: number;
  readonly text: string;
  readonly entities: readonly MessageEntity[];
  readonly canStop: boolean;
  readonly at: number;
  /** How many messages had been sent, to whatever chat, when it came. */
  readonly sentBefore: number;
};

type Waiter = { readonly sees: () => boolean; readonly reject: (error: Error) => void };

const WAIT_MS = 20_000;

/** What the bot did, in order, and promises that resolve as soon as it did it. */
export class SentLog {
  readonly sent: SentMessage[] = [];
  readonly chatActions: ChatAction[] = [];
  readonly drafts: Draft[] = [];
  readonly calls: Call[] = [];
  readonly #waiters = new Set<Waiter>();

  addSent(message: SentMessage): void {
    this.sent.push(message);
    this.#changed();
  }

  addAction(action: ChatAction): void {
    this.chatActions.push(action);
    this.#changed();
  }

  addDraft(draft: Draft): void {
    this.drafts.push(draft);
    this.#changed();
  }

  addCall(call: Call): void {
    this.calls.push(call);
    this.#changed();
  }

  /**
   * The first item from `from` on that matches, now or as soon as there is one.
   * Rejects after 20 s of real time with `wanted` and what there was instead.
   */
  async first<T>(
    items: readonly T[],
    from: number,
    matches: (item: T) => boolean,
    wanted: string,
  ): Promise<T> {
    const find = (): T | undefined => items.slice(from).find(matches);
    await this.until(() => find() !== undefined, wanted);
    return find()!; // until: there is one, and nothing is ever taken out
  }

  /** Resolves when `holds` does, looked at after every change of the log. */
  until(holds: () => boolean, wanted: string): Promise<void> {
    if (holds()) return Promise.resolve();
    const { promise, resolve, reject } = withResolvers();
    const waiter: Waiter = {
      sees() {
        if (!holds()) return false;
        resolve();
        return true;
      },
      reject,
    };
    this.#waiters.add(waiter);
    const timer = systemClock.after(WAIT_MS, () =>
      reject(new Error(`${wanted} did not come within ${WAIT_MS / 1000} s; ${this.#summary()}`)),
    );
    const settled = promise.finally(() => {
      timer.cancel();
      this.#waiters.delete(waiter);
    });
    // A test that failed before it came to await this is not to be drowned in a second error.
    settled.catch(() => undefined);
    return settled;
  }

  close(): void {
    for (const waiter of this.#waiters) waiter.reject(new Error("the Telegram emulator was closed"));
  }

  #changed(): void {
    for (const waiter of this.#waiters) waiter.sees();
  }

  #summary(): string {
    const texts = this.sent.map((item) => JSON.stringify(item.text ?? item.caption ?? item.media?.kind));
    const methods = [...new Set(this.calls.map((call) => call.method))];
    return `sent so far: ${texts.join(", ") || "nothing"}; methods called: ${methods.join(", ") || "none"}`;
  }
}

function withResolvers(): {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: Error) => void;
} {
  let resolve!: () => void; // the executor below runs before this function returns
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
