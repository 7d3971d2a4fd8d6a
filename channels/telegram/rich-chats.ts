import type { TelegramSettings } from "./settings.ts";

/** Which chats are sent rich messages: those that the operator chose, as long as the server knows of such. */
export class RichChats {
  readonly #chosen: TelegramSettings["rich"];
  #isKnown = true;

  constructor(chosen: TelegramSettings["rich"]) {
    this.#chosen = chosen;
  }

  get any(): boolean {
    return this.#chosen === true || (Array.isArray(this.#chosen) && this.#chosen.length > 0);
  }

  has(chat: string): boolean {
    return (
      this.#isKnown && (this.#chosen === true || (Array.isArray(this.#chosen) && this.#chosen.includes(chat)))
    );
  }

  /** The server has no such method. */
  unknown(): void {
    this.#isKnown = false;
  }
}
