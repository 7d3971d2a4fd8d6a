import type { ChannelFront, Live, Progress } from "../core/channel.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { ChatAddress } from "../core/identity.ts";
import type { ChannelRules } from "../core/rules.ts";

/** Platforms show "typing" for about 5 s (Bot API sendChatAction), so it is said again before that. */
const TYPING_MS = 4_000;
/** Between two signs: often enough to look alive, seldom enough to cost nothing. A channel may take longer for one. */
const PAUSE_MS = 120;

/** What is shown of an answer that is being written; the tree is made when it is asked for. */
export type Draft = Pick<Extract<Progress, { readonly kind: "draft" }>, "text" | "tree">;

/** How the operator wants answers shown that are being written: in this chat, else in this connection. */
export function liveIn(rules: ChannelRules | undefined, chat: string): Live | "off" | undefined {
  // "constructor" is a property of every object.
  const own = rules && Object.hasOwn(rules.chats, chat) ? rules.chats[chat]?.live : undefined;
  return own ?? rules?.live;
}

/** The signs of life of one turn. At most one is on its way at a time; a newer draft replaces one that waits. */
export class Life {
  readonly #channel: ChannelFront;
  readonly #to: ChatAddress;
  readonly #live: Live | undefined;
  readonly #clock: Clock;
  readonly #draftOf: (text: string) => Draft;
  #timer: Timer | undefined;
  #draft: string | undefined;
  /** When the next sign may be given. */
  #readyAt = 0;
  #busy = false;
  #ended = false;

  constructor(
    by: {
      readonly channel: ChannelFront;
      readonly to: ChatAddress;
      readonly live: Live | undefined;
      readonly clock: Clock;
    },
    /** What is shown of a text that is still being written. */
    draftOf: (text: string) => Draft,
  ) {
    this.#channel = by.channel;
    this.#to = by.to;
    this.#live = by.live;
    this.#clock = by.clock;
    this.#draftOf = draftOf;
  }

  begin(): void {
    this.#show({ kind: "typing" });
  }

  /** The whole text so far. */
  draft(text: string): void {
    if (this.#ended || text === "") return;
    const waits = this.#draft !== undefined || this.#busy;
    this.#draft = text;
    if (!waits) this.#schedule(this.#readyAt - this.#clock.now());
  }

  /** However the turn ends; the first call counts. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer?.cancel();
    // It never rejects, and what it takes back is the channel's work.
    void this.#channel.progress?.(this.#to, { kind: "over" });
  }

  #show(progress: Progress): void {
    if (this.#ended || !this.#channel.progress) return;
    this.#busy = true;
    // It never rejects.
    void this.#channel.progress(this.#to, progress).finally(() => {
      this.#busy = false;
      this.#readyAt = this.#clock.now() + PAUSE_MS;
      this.#schedule(this.#draft === undefined ? TYPING_MS : PAUSE_MS);
    });
  }

  #schedule(ms: number): void {
    if (this.#ended) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(ms, () => {
      const draft = this.#draft === undefined ? undefined : this.#draftOf(this.#draft);
      this.#draft = undefined;
      if (!draft || draft.text.trim() === "") return this.#show({ kind: "typing" });
      const live = this.#live === undefined ? {} : { live: this.#live };
      this.#show({ kind: "draft", ...draft, ...live });
    });
  }
}
