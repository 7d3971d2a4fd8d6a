import { createHmac } from "node:crypto";
import type { Api } from "grammy";
import type { UserFromGetMe, WebhookInfo } from "grammy/types";
import type { ChannelHost } from "../../src/core/host.ts";
import { pause } from "../../src/core/clock.ts";
import { asError, GatewayError } from "../../src/core/errors.ts";
import { type Ask, asking } from "./deadline.ts";
import { type Failure, failureOf, withoutText } from "./failures.ts";
import { ALLOWED } from "./inbound.ts";
import { hostOf, keepOnlyWebhook, rememberWebhook } from "./own-webhook.ts";
import { Trouble } from "./trouble.ts";
import type { Updates } from "./updates.ts";
import { updateIn } from "./webhook-request.ts";

const CALL_MS = 15_000;
/** How often Telegram is asked whether the webhook still stands and can be reached. */
const CHECK_MS = 10 * 60_000;

/** A refused address may be one whose name is not known everywhere yet. */
const REFUSED_MS = 60_000;

const SECRET = "webhookSecret";

export type WebhookParts = {
  /** Where Telegram reaches the HTTP server from outside, as the operator wrote it. */
  readonly base: string;
  readonly token: string;
  readonly api: Api["raw"];
  readonly updates: Updates;
  readonly host: ChannelHost;
  readonly closing: AbortSignal;
  readonly known: (me: UserFromGetMe) => void;
  readonly random: () => number;
};

/**
 * Has Telegram hand over what people send, until `closing` aborts; the promise that it gives never rejects, and resolves
 * when what was handed over is committed. The webhook stays set: what comes meanwhile waits at Telegram.
 * @throws GatewayError "config.invalid" where another channel has the path.
 */
export function hearWebhook(parts: WebhookParts): Promise<void> {
  const { host } = parts;
  const webhook = new Webhook(parts);
  // Whoever knows the secret is let in; Telegram has no password and calls the server by its public name.
  const unmount = host.http.mount(webhook.path, (request) => webhook.answer(request), { ownDoor: true });
  return webhook.keep().finally(unmount);
}

class Webhook {
  readonly path: string;
  readonly #url: string;
  readonly #parts: WebhookParts;
  readonly #trouble: Trouble;
  readonly #ask: Ask;
  #me: UserFromGetMe | undefined;
  #secret: string | undefined;
  #isSet = false;
  #heardAt = 0;
  /** Deliveries are committed one after another: a second try of one that takes long must not pass others of its chat. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: WebhookParts) {
    this.path = `/telegram/${parts.host.id}`;
    this.#url = parts.base.replace(/\/+$/, "") + this.path;
    this.#parts = parts;
    this.#trouble = new Trouble(parts.host, parts.random);
    this.#ask = asking(parts.api, parts.host.clock, CALL_MS, parts.closing);
  }

  /** Committed before it is answered; anything but 2xx makes Telegram keep the update and come again. */
  async answer(request: Request): Promise<Response> {
    const { updates, host, closing } = this.#parts;
    const [secret, me] = [this.#secret, this.#me];
    if (secret === undefined || me === undefined || closing.aborted)
      return new Response(null, { status: 503 });
    // Who hangs up in the middle of it hears no answer.
    const update = await updateIn(request, secret).catch(() => 400);
    if (typeof update === "number") return new Response(null, { status: update });
    if (closing.aborted) return new Response(null, { status: 503 });
    const taken = this.#last.then(() => updates.take([update], me));
    this.#last = taken.catch(() => {});
    try {
      await taken;
    } catch (thrown) {
      host.log.error({ err: asError(thrown) }, "a message could not be stored; Telegram hands it over again");
      return new Response(null, { status: 503 });
    }
    this.#heardAt = host.clock.now();
    this.#trouble.over();
    return new Response(null, { status: 200 });
  }

  /** Sets the webhook, and again where it has gone. */
  async keep(): Promise<void> {
    const { host, closing } = this.#parts;
    while (!closing.aborted) {
      const waitMs = await this.#look();
      if (waitMs === undefined) break;
      await pause(host.clock, waitMs, closing);
    }
    await this.#last;
  }

  /** Milliseconds until the next look; undefined when there is no use in one. */
  async #look(): Promise<number | undefined> {
    const { closing, known } = this.#parts;
    try {
      if (!this.#me) {
        this.#me = await this.#ask((api, signal) => api.getMe(signal));
        known(this.#me);
      }
      this.#secret ??= await this.#keptSecret();
      if (this.#isSet) await this.#check(await this.#ask((api, signal) => api.getWebhookInfo(signal)));
      else await this.#set().then(() => this.#trouble.over());
      return CHECK_MS;
    } catch (thrown) {
      return closing.aborted ? undefined : this.#failed(failureOf(thrown));
    }
  }

  /** Several processes that hear one webhook begin at the same time and must not draw each one of its own. */
  async #keptSecret(): Promise<string> {
    const { token, host } = this.#parts;
    const { state } = host;
    const kept = (await state.get([SECRET])).get(SECRET);
    if (kept !== undefined) return kept;
    const secret = createHmac("sha256", token).update(this.path).digest("base64url"); // Bot API setWebhook: 1–256 of A-Z, a-z, 0-9, _ and -
    await state.set({ [SECRET]: secret });
    return secret;
  }

  async #set(): Promise<void> {
    const { state } = this.#parts.host;
    const asked = { url: this.#url, secret_token: this.#secret ?? "", allowed_updates: ALLOWED };
    await rememberWebhook(state, this.#url);
    await this.#ask((api, signal) => api.setWebhook(asked, signal));
    await keepOnlyWebhook(state, this.#url);
    this.#isSet = true;
  }

  #failed(failure: Failure): number | undefined {
    if (failure.kind !== "refused" || failure.code !== 400) return this.#trouble.met(failure);
    this.#trouble.tell(
      new GatewayError(
        "channel.refused",
        `Telegram does not take the webhook at ${hostOf(this.#url)}: ${failure.description}; it needs an address that ` +
          "begins with https, can be reached from outside and has port 443, 80, 88 or 8443",
      ),
    );
    return REFUSED_MS;
  }

  async #check(info: WebhookInfo): Promise<void> {
    const { log } = this.#parts.host;
    const {
      url = "",
      pending_update_count: waiting,
      last_error_date: failedAt = 0,
      last_error_message = "",
    } = info;
    if (url !== this.#url) {
      const now = url === "" ? "none" : hostOf(url);
      log.warn({ now }, "somebody has changed the webhook of this bot; it is set again");
      await this.#set();
      this.#trouble.over();
    } else if (waiting > 0 && failedAt * 1000 > this.#heardAt) {
      // Perhaps it was set with another secret.
      await this.#set();
      const host = hostOf(this.#url);
      this.#trouble.tell(
        new GatewayError(
          "channel.unreachable",
          `Telegram cannot hand over ${waiting} messages at ${host}: ${withoutText(last_error_message)}; ` +
            `see that ${host} passes ${this.path} on to Perch`,
        ),
      );
    } else this.#trouble.over();
  }
}
