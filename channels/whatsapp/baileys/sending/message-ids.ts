import { createHmac, randomBytes } from "node:crypto";
import type { Piece } from "../../../../src/core/channel.ts";
import type { ChannelState } from "../../../../src/core/host.ts";
import type { Seal } from "../keys/seal.ts";

/** Which message of a piece: an album has several, and one in a simpler form is another. */
type Part = { readonly part?: string; readonly form?: string };

/**
 * WhatsApp lets the sender name its messages, and shows one name once. A piece that is sent again has the name of before,
 * which nobody outside can guess. What it says is in it: the numbers of pieces begin anew with an older database, and a
 * new message under a name that was used would not be shown.
 */
export class MessageIds {
  readonly #salt: Uint8Array;

  constructor(salt: Uint8Array) {
    this.#salt = salt;
  }

  static async load(state: ChannelState, seal: Seal): Promise<MessageIds> {
    const sealed = (await state.get([SALT])).get(SALT);
    if (sealed !== undefined) return new MessageIds(seal.open(sealed, SALT));
    const salt = randomBytes(32);
    await state.set({ [SALT]: seal.seal(salt, SALT) });
    return new MessageIds(salt);
  }

  idOf({ id, to, body }: Pick<Piece, "id" | "to" | "body">, { part = "", form = "" }: Part = {}): string {
    return this.#named("piece", String(id), to.chat, JSON.stringify(body), part, form);
  }

  /** Of the message that takes back another one. */
  revokeOf(id: string): string {
    return this.#named("revoke", id);
  }

  /** Of the message that puts a sign at another one, or takes it away. */
  reactionOf(ref: string, sign: string): string {
    return this.#named("reaction", ref, sign);
  }

  #named(...words: readonly string[]): string {
    const hash = createHmac("sha256", this.#salt).update(JSON.stringify(words)).digest("hex");
    return `3EB0${hash.slice(0, 18).toUpperCase()}`; // as WhatsApp Web's look
  }
}

const SALT = "outbox/salt";
