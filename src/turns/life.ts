import type { Channel, Progress } from "../core/channel.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { ChatAddress } from "../core/identity.ts";

/** Platforms show "typing" for about 5 s (Bot API sendChatAction), so it is said again before that. */
const TYPING_MS = 4_000;
/** Between two drafts: often enough to look alive, seldom enough to cost nothing. */
const DRAFT_MS = 120;

/** The signs of life of one turn. At most one is on its way at a time; a newer draft replaces one that waits. */
export class Life {
  readonly #channel: Channel;
  readonly #to: ChatAddress;
  readonly #clock: Clock;
  readonly #draftOf: (text: string) => string;
  #timer: Timer | undefined;
  #draft: string | undefined;
  #busy = false;
  #ended = false;

  /** `draftOf` says what is shown of a text that is still being written. */
  constructor(channel: Channel, to: ChatAddress, clock: Clock, draftOf: (text: string) => string) {
    this.#channel = channel;
    this.#to = to;
    this.#clock = clock;
    this.#draftOf = draftOf;
  }

  begin(): void {
    this.#show({ kind: "typing" });
  }

  /** The whole text so far. */
  draft(text: string): void {
    if (this.#ended || text === "") return;
    const first = this.#draft === undefined && !this.#busy;
    this.#draft = text;
    if (first) this.#schedule(0);
  }

  end(): void {
    this.#ended = true;
    this.#timer?.cancel();
  }

  #show(progress: Progress): void {
    if (this.#ended || !this.#channel.progress) return;
    this.#busy = true;
    // It never rejects.
    void this.#channel.progress(this.#to, progress).finally(() => {
      this.#busy = false;
      this.#schedule(this.#draft === undefined ? TYPING_MS : DRAFT_MS);
    });
  }

  #schedule(ms: number): void {
    if (this.#ended) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(ms, () => {
      const text = this.#draft === undefined ? "" : this.#draftOf(this.#draft);
      this.#draft = undefined;
      this.#show(text.trim() === "" ? { kind: "typing" } : { kind: "draft", text });
    });
  }
}
