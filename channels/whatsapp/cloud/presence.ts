import type { Clock } from "../../../src/core/clock.ts";
import { pause } from "../../../src/core/clock.ts";
import type { Progress } from "../../../src/core/channel.ts";
import type { ChatAddress } from "../../../src/core/identity.ts";
import type { CloudSettings } from "../settings.ts";
import type { Graph } from "./graph.ts";
import { recipientOf } from "./people.ts";
import type { Windows } from "./window.ts";

const CALL_MS = 10_000;
/** Cloud API: "typing" goes after 25 s, or with the answer. */
const TYPING_MS = 20_000;

export type PresenceParts = {
  readonly graph: Graph;
  readonly settings: Pick<CloudSettings, "phoneNumberId">;
  readonly windows: Windows;
  readonly clock: Clock;
  /** Whether people may see that they were read: who is shown as typing has read. */
  readonly readReceipts: boolean;
  readonly closing: AbortSignal;
};

/** Signs of life, which are worth nobody's trouble: nothing here throws. */
export class Presence {
  readonly #parts: PresenceParts;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  /** Resolves when the next sign may be shown. */
  async progress({ chat }: ChatAddress, progress: Progress): Promise<void> {
    const { windows, clock, readReceipts, closing } = this.#parts;
    if (progress.kind !== "typing" || !readReceipts || closing.aborted) return;
    const last = await windows.last(chat).catch(() => undefined);
    if (!last) return;
    await this.#mark(last.ref, { typing_indicator: { type: "text" } });
    await pause(clock, TYPING_MS, closing);
  }

  /** What came before the last of them is marked with it. */
  async taken(_to: ChatAddress, refs: readonly string[]): Promise<void> {
    const last = refs.findLast((ref) => ref !== "");
    if (last !== undefined && this.#parts.readReceipts) await this.#mark(last, {});
  }

  /** As `Channel.react`. An empty emoji takes the one away that was there. */
  async react(to: ChatAddress, ref: string, sign: string | undefined, signal: AbortSignal): Promise<void> {
    const { graph, settings } = this.#parts;
    const json = {
      messaging_product: "whatsapp",
      recipient_type: "individual",
      ...recipientOf(to),
      type: "reaction",
      reaction: { message_id: ref, emoji: sign ?? "" },
    };
    const call = { method: "POST", path: `${settings.phoneNumberId}/messages`, json } as const;
    await graph.call({ ...call, deadlineMs: CALL_MS, signal }).catch(() => {});
  }

  async #mark(ref: string, more: object): Promise<void> {
    const { graph, settings, closing } = this.#parts;
    const json = { messaging_product: "whatsapp", status: "read", message_id: ref, ...more };
    const call = { method: "POST", path: `${settings.phoneNumberId}/messages`, json } as const;
    await graph.call({ ...call, deadlineMs: CALL_MS, signal: closing }).catch(() => {});
  }
}
