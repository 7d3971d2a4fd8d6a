import { pause } from "../../src/core/clock.ts";
import type { ChannelId } from "../../src/core/identity.ts";
import { editsOursAlone, idsBetween, probe, type ProbeParts } from "./probe.ts";
import { rowOf } from "./sightings.ts";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** A message with a button of its own that may or may not stand in a chat, under an id that was never told. */
export type Lost = {
  readonly chat: string;
  readonly button: string;
  /** Its id is higher than this one. */
  readonly after: number;
  /** Messages of ours in that chat that are not it. */
  readonly others: Set<number>;
};

export type LostPreviewParts = ProbeParts & {
  readonly channel: ChannelId;
  readonly closing: AbortSignal;
  /** Called once for each: where it stands, if it does as far as can be known. */
  readonly found: (lost: Lost, id: number | undefined) => Promise<void>;
};

/**
 * Finds such messages as soon as something was sent behind them: its id is higher than theirs. No other message has their
 * button, so that a keyboard with it "is not modified" on them alone.
 */
export class LostPreviews {
  readonly #parts: LostPreviewParts;
  readonly #lost = new Set<Lost>();
  readonly #searched = new WeakSet<Lost>();

  constructor(parts: LostPreviewParts) {
    this.#parts = parts;
  }

  add(chat: string, button: string, after: number): void {
    this.#lost.add({ chat, button, after, others: new Set() });
  }

  /** Those that whatever is sent from now on stands behind. */
  all(): readonly Lost[] {
    return [...this.#lost];
  }

  /** Messages of ours stand in the chat, which were sent when `before` were lost already. */
  sent(chat: string, ids: readonly number[], before: readonly Lost[]): void {
    for (const lost of this.#lost) if (lost.chat === chat) for (const id of ids) lost.others.add(id);
    const first = Math.min(...ids);
    for (const lost of before) {
      const isBehind = rowOf(lost.chat) === rowOf(chat) && first > lost.after;
      if (!isBehind || !this.#lost.has(lost) || this.#searched.has(lost)) continue;
      this.#searched.add(lost);
      void this.#search(lost, first);
    }
  }

  /** Looks for those of a chat among these ids. @throws GatewayError "send.*" when Telegram cannot be asked now. */
  async settle(chat: string, ids: readonly number[], signal: AbortSignal): Promise<void> {
    for (const lost of this.#lost) {
      const id = lost.chat === chat ? await this.#among(ids, lost, signal) : undefined;
      if (id !== undefined) await this.#end(lost, id);
    }
  }

  /** Never rejects. */
  async #search(lost: Lost, before: number): Promise<void> {
    const { clock, closing } = this.#parts;
    const ids = idsBetween(lost.after, before);
    for (let failures = 0; !closing.aborted; failures += 1) {
      try {
        return await this.#end(lost, ids && (await this.#among(ids, lost, closing)));
      } catch {
        await pause(clock, Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS), closing);
      }
    }
  }

  async #among(ids: readonly number[], lost: Lost, signal: AbortSignal): Promise<number | undefined> {
    const { api, channel, clock, pace } = this.#parts;
    const to = { channel, chat: lost.chat };
    const reply_markup = stopKeyboard(lost.button);
    // Better half an answer that stays than a button on somebody else's post.
    if (!(await editsOursAlone(to, this.#parts, signal))) return undefined;
    for (const id of ids) {
      if (id <= lost.after || lost.others.has(id)) continue;
      // What people wait for goes first.
      await pause(clock, pace.spareAt(to) - clock.now(), signal);
      const answer = await probe(
        to,
        id,
        (at, cut) => api.editMessageReplyMarkup({ ...at, reply_markup }, cut),
        this.#parts,
        signal,
      );
      if (answer === "the same") return id;
      // A message of ours that nobody knew of has the button now, which is nothing to it.
      if (answer === "changed")
        await probe(to, id, (at, cut) => api.editMessageReplyMarkup(at, cut), this.#parts, signal);
    }
    return undefined;
  }

  async #end(lost: Lost, id: number | undefined): Promise<void> {
    if (this.#lost.delete(lost)) await this.#parts.found(lost, id);
  }
}

/** The one button below an answer that is being written. */
export function stopKeyboard(button: string): {
  inline_keyboard: { text: string; callback_data: string }[][];
} {
  return { inline_keyboard: [[{ text: "Stop", callback_data: button }]] };
}
