import { asError } from "../../../src/core/errors.ts";
import type { Log } from "../../../src/core/log.ts";
import type { CloudSettings } from "../settings.ts";
import type { Graph } from "./graph.ts";
import { recipientOf } from "./people.ts";
import type { Notice } from "./receive.ts";

export type NoticeParts = {
  readonly graph: Graph;
  readonly settings: Pick<CloudSettings, "phoneNumberId">;
  readonly log: Log;
  readonly closing: AbortSignal;
};

/** WhatsApp has no words that go with a press alone: whoever pressed what leads to nothing is told in a message. */
export class Notices {
  readonly #parts: NoticeParts;
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: NoticeParts) {
    this.#parts = parts;
  }

  /** Does not wait: Meta is to hear at once that the press was taken in. */
  show(notices: readonly Notice[]): void {
    for (const notice of notices) {
      const showing: Promise<void> = this.#send(notice).finally(() => this.#underWay.delete(showing));
      this.#underWay.add(showing);
    }
  }

  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #send({ chat, text }: Notice): Promise<void> {
    const { graph, settings, log, closing } = this.#parts;
    const json = {
      messaging_product: "whatsapp",
      recipient_type: "individual",
      ...recipientOf({ channel: "", chat }),
      type: "text",
      text: { body: text },
    };
    const call = {
      method: "POST",
      path: `${settings.phoneNumberId}/messages`,
      json,
      signal: closing,
    } as const;
    await graph.call(call).catch((thrown: unknown) => {
      log.warn({ err: asError(thrown) }, "whoever pressed a button could not be told that it led to nothing");
    });
  }
}
