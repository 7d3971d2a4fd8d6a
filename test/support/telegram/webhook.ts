import type { Update } from "grammy/types";
import { asError } from "../../../src/core/errors.ts";
import { deadline, pause } from "../../../src/core/clock.ts";
import type { Account, Webhook } from "./account.ts";

type Outcome =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly why: string; readonly waitMs?: number };

const ANSWER_MS = 60_000; // what Telegram waits for our answer
const FIRST_WAIT_MS = 1_000;
const LONGEST_RETRY_AFTER_SECONDS = 3_600;

/**
 * Posts updates to the webhook: of one chat in order and one at a time, chats side by side.
 * What is not answered with 2xx comes again after a doubling wait, until it expires.
 */
export class WebhookSender {
  readonly #account: Account;
  readonly #lanes = new Set<string>();
  #run = new AbortController();

  constructor(account: Account) {
    this.#account = account;
    account.queue.onAdded(() => this.#deliver(this.#run.signal));
    account.webhookChanged = () => {
      this.close();
      this.#lanes.clear();
      this.#run = new AbortController();
      this.#deliver(this.#run.signal);
    };
  }

  close(): void {
    this.#run.abort(new Error("the webhook was changed or the emulator closed"));
  }

  #deliver(run: AbortSignal): void {
    const { webhook, queue } = this.#account;
    if (!webhook || run.aborted) return;
    for (const update of queue.pending()) {
      const lane = laneOf(update);
      if (this.#lanes.has(lane)) continue;
      if (this.#lanes.size >= webhook.connections) return;
      this.#lanes.add(lane);
      // Never rejects: every failure of a post is an outcome.
      void this.#work(lane, webhook, update, run);
    }
  }

  async #work(lane: string, webhook: Webhook, update: Update, run: AbortSignal): Promise<void> {
    await this.#untilAccepted(webhook, update, run);
    if (run.aborted) return;
    this.#lanes.delete(lane);
    this.#deliver(run);
  }

  async #untilAccepted(webhook: Webhook, update: Update, run: AbortSignal): Promise<void> {
    const { clock, queue } = this.#account;
    const longestMs = 60_000 + Math.random() * 60_000; // telegram-bot-api WebhookActor: capped at random 60–120 s
    for (let waitMs = FIRST_WAIT_MS; !run.aborted && queue.pending().includes(update); waitMs *= 2) {
      const outcome = await this.#post(webhook, update, run);
      if (run.aborted) return;
      if (outcome.accepted) return queue.confirm(update.update_id);
      webhook.lastError = { date: this.#account.date(), message: outcome.why };
      await pause(clock, outcome.waitMs ?? Math.min(waitMs, longestMs), run);
    }
  }

  async #post(webhook: Webhook, update: Update, run: AbortSignal): Promise<Outcome> {
    const limit = deadline(this.#account.clock, ANSWER_MS, new Error("Read timeout expired"));
    try {
      const answer = await fetch(webhook.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(webhook.secret !== "" && { "x-telegram-bot-api-secret-token": webhook.secret }),
        },
        body: JSON.stringify(update),
        signal: AbortSignal.any([run, limit.signal]),
      });
      await answer.arrayBuffer();
      if (answer.ok) return { accepted: true };
      const why = `Wrong response from the webhook: ${answer.status} ${answer.statusText}`;
      const seconds = Number(answer.headers.get("retry-after") ?? Number.NaN);
      if (!(seconds >= 0)) return { accepted: false, why };
      return { accepted: false, why, waitMs: Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS) * 1000 };
    } catch (error) {
      return { accepted: false, why: asError(error).message };
    } finally {
      limit.clear();
    }
  }
}

function laneOf(update: Update): string {
  const body: unknown = Object.entries(update).find(([name]) => name !== "update_id")?.[1];
  const message = isRecord(body) && isRecord(body["message"]) ? body["message"] : body;
  const holder = isRecord(message) ? (message["chat"] ?? message["from"] ?? message["user"]) : undefined;
  return isRecord(holder) ? String(holder["id"]) : "none";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
