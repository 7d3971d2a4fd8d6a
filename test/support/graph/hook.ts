import { createHmac } from "node:crypto";
import { type Clock, pause } from "../../../src/core/clock.ts";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 3_600_000;
const GIVE_UP_MS = 7 * 24 * 3_600_000;

/** One change of a number's, as it stands in a payload. */
export type Change = Readonly<Record<string, unknown>>;

/** How a payload was answered, each time that it was posted. */
export type Posted = { readonly changes: readonly Change[]; readonly statuses: number[] };

/**
 * Posts what happens to a webhook, signed: one payload after the other, and what was not answered with 200 again after a
 * wait that doubles, for a week, while the others go on.
 */
export class Hook {
  readonly posted: Posted[] = [];
  readonly #clock: Clock;
  readonly #secret: string;
  readonly #account: string;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #url: string | undefined;
  #held: Change[] | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: { readonly clock: Clock; readonly secret: string; readonly account: string }) {
    this.#clock = parts.clock;
    this.#secret = parts.secret;
    this.#account = parts.account;
  }

  /** The address is taken when it gives the challenge back. Gives its status. */
  async verify(url: string, verifyToken: string): Promise<number> {
    const query = new URLSearchParams({
      "hub.mode": "subscribe",
      "hub.verify_token": verifyToken,
      "hub.challenge": "1158201444",
    });
    const answer = await fetch(`${url}?${query.toString()}`);
    if (answer.status === 200 && (await answer.text()) === "1158201444") this.#url = url;
    return answer.status;
  }

  add(change: Change): void {
    if (this.#held) this.#held.push(change);
    else this.post([change]);
  }

  /** From now on nothing is posted. */
  hold(): void {
    this.#held ??= [];
  }

  /** Posts what was held, as payloads of so many changes each; `order` may turn, shuffle and double them. */
  release(order: (held: readonly Change[]) => readonly Change[] = (held) => held, batch = 1): void {
    const all = order(this.#held ?? []);
    this.#held = undefined;
    for (let at = 0; at < all.length; at += batch) this.post(all.slice(at, at + batch));
  }

  post(changes: readonly Change[]): void {
    const posted: Posted = { changes, statuses: [] };
    this.posted.push(posted);
    const first = this.#last.then(() => this.#once(posted));
    this.#last = first;
    const whole = first
      .then((status) => this.#again(posted, status))
      .finally(() => this.#underWay.delete(whole));
    this.#underWay.add(whole);
  }

  /** Whether all that was posted was taken. */
  isSettled(): boolean {
    return this.#underWay.size === 0;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#underWay);
  }

  async #again(posted: Posted, first: number): Promise<void> {
    const endsAt = this.#clock.now() + GIVE_UP_MS;
    let status = first;
    for (let waitMs = FIRST_WAIT_MS; status !== 200 && !this.#closing.signal.aborted; waitMs *= 2) {
      if (this.#clock.now() > endsAt) return;
      await pause(this.#clock, Math.min(waitMs, LONGEST_WAIT_MS), this.#closing.signal);
      if (!this.#closing.signal.aborted) status = await this.#once(posted);
    }
  }

  /** 0 where nobody answered. */
  async #once({ changes, statuses }: Posted): Promise<number> {
    if (this.#url === undefined || this.#closing.signal.aborted) return 0;
    const body = this.bodyOf(changes);
    const headers = { "content-type": "application/json", "x-hub-signature-256": this.signatureOf(body) };
    const status = await fetch(this.#url, {
      method: "POST",
      headers,
      body,
      signal: this.#closing.signal,
    }).then(
      (answer) => answer.status,
      () => 0,
    );
    statuses.push(status);
    return status;
  }

  /** As Meta writes it: with escapes in place of all that is not ASCII, and of slashes. */
  bodyOf(changes: readonly Change[]): string {
    const entry = [{ id: this.#account, changes: changes.map((value) => ({ value, field: "messages" })) }];
    return JSON.stringify({ object: "whatsapp_business_account", entry })
      .replaceAll("/", "\\/")
      .replaceAll(/[\u007f-\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }

  signatureOf(body: string): string {
    return `sha256=${createHmac("sha256", this.#secret).update(body).digest("hex")}`;
  }
}
