import type { Update } from "grammy/types";
import { asError } from "../../../src/core/errors.ts";
import { pause } from "../../../src/core/clock.ts";
import type { Account, Webhook } from "./account.ts";

type Outcome =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly why: string; readonly status?: number; readonly waitMs?: number };

const ANSWER_MS = 60_000; // what Telegram waits for our answer
const FIRST_WAIT_MS = 1_000;
const LONGEST_RETRY_AFTER_SECONDS = 3_600;
const GONE = 410;
const GONE_MS = 23 * 3_600_000; // telegram-bot-api WebhookActor: after so long of nothing but 410 the webhook is taken away

/**
 * Posts updates to the webhook: of one queue in order and one at a time, queues side by side; the messages of a chat are
 * one queue, the presses of a person another. What is not answered with 2xx comes again: at once, then after a doubling
 * wait, until it expires.
 */
export class WebhookSender {
  readonly #account: Account;
  readonly #lanes = new Set<string>();
  #run = new AbortController();
  #goneSince: number | undefined;

  constructor(account: Account) {
    this.#account = account;
    account.queue.onAdded(() => this.#deliver(this.#run.signal));
    account.webhookChanged = () => {
      this.close();
      this.#lanes.clear();
      this.#goneSince = undefined;
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
    let delayMs = 0;
    while (!run.aborted && queue.pending().includes(update)) {
      const outcome = await this.#post(webhook, update, run);
      if (run.aborted) return;
      if (outcome.accepted) {
        this.#goneSince = undefined;
        return queue.confirm(update.update_id);
      }
      webhook.lastError = { date: this.#account.date(), message: outcome.why };
      if (this.#isGone(outcome.status)) {
        this.#account.webhook = undefined;
        return this.close();
      }
      const waitMs = outcome.waitMs ?? delayMs;
      if (waitMs > 0) await pause(clock, waitMs, run);
      delayMs = Math.min(Math.max(delayMs, FIRST_WAIT_MS) * 2, longestMs);
    }
  }

  #isGone(status: number | undefined): boolean {
    const now = this.#account.clock.now();
    this.#goneSince = status === GONE ? (this.#goneSince ?? now) : undefined;
    return this.#goneSince !== undefined && now - this.#goneSince > GONE_MS;
  }

  async #post(webhook: Webhook, update: Update, run: AbortSignal): Promise<Outcome> {
    const call = new AbortController();
    const timer = this.#account.clock.after(ANSWER_MS, () => call.abort(new Error("Read timeout expired")));
    const stop = (): void => call.abort(run.reason);
    run.addEventListener("abort", stop);
    try {
      const answer = await fetch(webhook.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(webhook.secret !== "" && { "x-telegram-bot-api-secret-token": webhook.secret }),
        },
        body: JSON.stringify(update),
        signal: call.signal,
      });
      await answer.arrayBuffer();
      if (answer.ok) return { accepted: true };
      const { status, statusText } = answer;
      const why = `Wrong response from the webhook: ${status} ${statusText}`;
      const seconds = Number(answer.headers.get("retry-after") ?? 0);
      if (!(seconds > 0)) return { accepted: false, why, status };
      const waitMs = Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS) * 1000;
      return { accepted: false, why, status, waitMs };
    } catch (error) {
      return { accepted: false, why: asError(error).message };
    } finally {
      timer.cancel();
      run.removeEventListener("abort", stop);
    }
  }
}

const MESSAGES = new Set(["message", "edited_message", "channel_post", "edited_channel_post"]);
const BUSINESS = new Set(["business_message", "edited_business_message", "deleted_business_messages"]);

// telegram-bot-api add_update: a queue for the messages of each chat, and others for each other kind.
function laneOf(update: Update): string {
  const [kind, body] = Object.entries(update).find(([name]) => name !== "update_id") ?? ["", undefined];
  const fields: Readonly<Record<string, unknown>> = isRecord(body) ? body : {};
  const holder = fields["chat"] ?? fields["user"] ?? fields["from"];
  const group = MESSAGES.has(kind) ? "message" : BUSINESS.has(kind) ? "business" : kind;
  return `${group} ${isRecord(holder) ? String(holder["id"]) : "none"}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
