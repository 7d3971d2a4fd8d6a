import type { Message, MessageEntity } from "grammy/types";
import { systemClock } from "../../../src/core/clock.ts";
import { Log } from "./log.ts";
import type { Call } from "./request.ts";
import type { RichContent } from "./rich/message.ts";

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
  readonly rich: RichContent | undefined;
  readonly media: SentMedia | undefined;
  readonly mediaGroupId: string | undefined;
  /** The topic, not the thread of answers that a plain group shows. */
  readonly threadId: number | undefined;
  /** The message that it answers, where that was found. */
  readonly replyTo: number | undefined;
  readonly replyParameters: unknown;
  readonly silent: boolean;
  readonly linkPreview: unknown;
  readonly replyMarkup: unknown;
  readonly businessConnectionId: string | undefined;
  readonly message: Message;
};

/** A change of a message of the bot. */
export type Edit = {
  readonly method: string;
  readonly chatId: number;
  readonly messageId: number;
  readonly at: number;
  /** Text, caption or the words of a rich message, as they stand after it. */
  readonly text: string | undefined;
  readonly replyMarkup: unknown;
  /** As it stands after it. */
  readonly message: Message;
};

export type Deletion = {
  readonly chatId: number;
  readonly messageIds: readonly number[];
  readonly at: number;
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
  /** Empty shows "Thinking…". Of a rich draft: its words. */
  readonly text: string;
  readonly entities: readonly MessageEntity[];
  readonly rich: RichContent | undefined;
  readonly canStop: boolean;
  readonly keepOnStop: boolean;
  readonly at: number;
};

export type CallbackAnswer = {
  readonly queryId: string;
  readonly text: string;
  readonly alert: boolean;
  readonly at: number;
};

export type GuestAnswer = {
  readonly queryId: string;
  readonly inlineMessageId: string;
  /** The text of an article; undefined for other results. */
  readonly text: string | undefined;
  readonly result: unknown;
  readonly at: number;
};

export type BotReaction = {
  readonly chatId: number;
  readonly messageId: number;
  readonly reaction: readonly unknown[];
  readonly at: number;
};

/** One thing that a person could see the bot do. */
export type Happening =
  | ({ readonly kind: "sent" } & SentMessage)
  | ({ readonly kind: "edited" } & Edit)
  | ({ readonly kind: "deleted" } & Deletion)
  | ({ readonly kind: "draft" } & Draft);

type Waiter = { readonly sees: () => boolean; readonly reject: (error: Error) => void };

const WAIT_MS = 20_000;

/** What the bot did, in order, and promises that resolve as soon as it did it. */
export class SentLog {
  readonly sent: Log<SentMessage>;
  readonly edits: Log<Edit>;
  readonly deletions: Log<Deletion>;
  readonly chatActions: Log<ChatAction>;
  readonly drafts: Log<Draft>;
  readonly callbackAnswers: Log<CallbackAnswer>;
  readonly guestAnswers: Log<GuestAnswer>;
  readonly reactions: Log<BotReaction>;
  readonly calls: Log<Call>;
  /** Messages, edits, deletions and drafts of all chats, in the order in which they were carried out. */
  readonly timeline: Log<Happening>;
  readonly #waiters = new Set<Waiter>();

  /** Keeps the newest `most` of each kind. */
  constructor(most: number) {
    const changed = (): void => {
      for (const waiter of this.#waiters) waiter.sees();
    };
    this.timeline = new Log(most, changed);
    this.sent = new Log(most, (item) => this.timeline.add({ kind: "sent", ...item }));
    this.edits = new Log(most, (item) => this.timeline.add({ kind: "edited", ...item }));
    this.deletions = new Log(most, (item) => this.timeline.add({ kind: "deleted", ...item }));
    this.drafts = new Log(most, (item) => this.timeline.add({ kind: "draft", ...item }));
    this.chatActions = new Log(most, changed);
    this.callbackAnswers = new Log(most, changed);
    this.guestAnswers = new Log(most, changed);
    this.reactions = new Log(most, changed);
    this.calls = new Log(most, changed);
  }

  /**
   * The first item that matches of those after the first `count`, now or as soon as there is one.
   * Rejects after 20 s of real time with `wanted` and what there was instead.
   */
  async first<T>(log: Log<T>, count: number, matches: (item: T) => boolean, wanted: string): Promise<T> {
    let found: T | undefined;
    await this.until(() => (found ??= log.since(count).find(matches)) !== undefined, wanted);
    return found!; // until: there is one
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

  #summary(): string {
    const texts = this.sent.items.map((item) =>
      JSON.stringify(item.text ?? item.caption ?? item.rich?.text ?? item.media?.kind),
    );
    const methods = [...new Set(this.calls.items.map((call) => call.method))];
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
