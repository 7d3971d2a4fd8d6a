import type { Api } from "grammy";
import type { Update, UserFromGetMe } from "grammy/types";
import type { ChannelHost } from "../../src/core/host.ts";
import { pause } from "../../src/core/clock.ts";
import { asError, GatewayError } from "../../src/core/errors.ts";
import { type Ask, asking, within } from "./deadline.ts";
import { type Failure, failureOf } from "./failures.ts";
import { ALLOWED } from "./inbound.ts";
import { hostOf, keepOnlyWebhook, ownWebhooks } from "./own-webhook.ts";
import type { Line } from "./transport.ts";
import { growing, Trouble } from "./trouble.ts";
import type { Updates } from "./updates.ts";
import { Watchdog } from "./watchdog.ts";

const POLL_SECONDS = 30;
/** A poll that is not answered so long after its own end hangs on a dead connection. */
const GRACE_MS = 15_000;
const BATCH = 100; // Bot API getUpdates: 1–100
const ASK_MS = 10_000;

const STORE_FIRST_MS = 1_000;
const STORE_LONGEST_MS = 30_000;
const FAILURES_BEFORE_RENEWED = 2;
const WEBHOOK_PROBE_MS = 60_000;
/** What answers for Telegram and knows no long polling is not asked more often. */
const EMPTY_MS = 1_000;
/** When polls have brought nothing for so long, Telegram is asked whether anything waits. */
const QUIET_MS = 15 * 60_000;

const OFFSET = "offset";

export type PollParts = {
  /** Nothing but what is asked here goes over this line. */
  readonly line: Line;
  readonly polling: Api["raw"];
  /** For what is asked beside the polls, over other connections. */
  readonly api: Api["raw"];
  readonly updates: Updates;
  readonly host: ChannelHost;
  readonly closing: AbortSignal;
  readonly known: (me: UserFromGetMe) => void;
  readonly random: () => number;
};

/**
 * Takes in what people send until `closing` aborts: a batch is committed before Telegram is asked for what comes after
 * it, and asking is what makes Telegram forget it. One poll at a time. Never rejects; ends by itself when Telegram does
 * not accept the token, which `host.failed` tells.
 */
export async function poll(parts: PollParts): Promise<void> {
  const polls = new Polls(parts);
  try {
    while (!parts.closing.aborted) {
      const waitMs = await polls.next();
      if (waitMs === undefined) return;
      if (waitMs > 0) await pause(parts.host.clock, waitMs, parts.closing);
    }
  } finally {
    polls.end();
  }
}

class Polls {
  readonly #parts: PollParts;
  readonly #trouble: Trouble;
  readonly #watchdog: Watchdog;
  /** Beside the polls, over other connections. */
  readonly #askBeside: Ask;
  #me: UserFromGetMe | undefined;
  #offset: number | undefined;
  #notStored = 0;
  #networkFailures = 0;
  #askedAt = 0;
  #lastBroughtAt: number;
  /** How many updates Telegram has said to be waiting, while polls brought none. */
  #saidToWait = 0;

  constructor(parts: PollParts) {
    const { host, line, api, closing, random } = parts;
    this.#parts = parts;
    this.#trouble = new Trouble(host, random);
    this.#askBeside = asking(api, host.clock, ASK_MS, closing);
    this.#lastBroughtAt = host.clock.now();
    this.#watchdog = new Watchdog(host.clock, () => {
      line.renew();
      this.#trouble.tell(
        new GatewayError(
          "channel.unreachable",
          "nothing was taken in for 2 min: a poll, or the storing of one, hangs",
        ),
      );
    });
    this.#watchdog.ended();
  }

  end(): void {
    this.#watchdog.stop();
  }

  /** Milliseconds until the next poll may begin; undefined when there is no use in one. Never rejects. */
  async next(): Promise<number | undefined> {
    const { closing } = this.#parts;
    let waitMs: number | undefined;
    try {
      waitMs = await this.#taken(await this.#watchdog.over(this.#ask()));
    } catch (thrown) {
      if (closing.aborted) return undefined;
      waitMs = await this.#failed(failureOf(thrown));
    }
    this.#watchdog.ended(waitMs);
    return waitMs;
  }

  async #ask(): Promise<readonly Update[]> {
    const { polling, host, closing, known } = this.#parts;
    if (!this.#me) {
      this.#me = await within(host.clock, GRACE_MS, closing, (signal) => polling.getMe(signal));
      known(this.#me);
    }
    this.#offset ??= await this.#storedOffset();
    this.#askedAt = host.clock.now();
    const asked = { timeout: POLL_SECONDS, limit: BATCH, allowed_updates: ALLOWED, offset: this.#offset };
    return await within(host.clock, POLL_SECONDS * 1000 + GRACE_MS, closing, (signal) =>
      polling.getUpdates(asked, signal),
    );
  }

  /** What a poll gave is committed, and then it is not asked for again. */
  async #taken(batch: readonly Update[]): Promise<number> {
    const { host, updates } = this.#parts;
    this.#networkFailures = 0;
    const last = batch.at(-1);
    if (!last || !this.#me) return await this.#broughtNothing();
    this.#lastBroughtAt = host.clock.now();
    this.#saidToWait = 0;
    this.#trouble.over();
    try {
      await updates.take(batch, this.#me);
      this.#notStored = 0;
    } catch (thrown) {
      // Not confirmed, so Telegram hands the same batch over again.
      const waitMs = growing(this.#notStored, STORE_FIRST_MS, STORE_LONGEST_MS);
      this.#notStored += 1;
      host.log.error({ err: asError(thrown), waitMs }, "messages could not be stored; asked for again");
      return waitMs;
    }
    this.#offset = last.update_id + 1;
    await this.#keepOffset(this.#offset);
    return 0;
  }

  /** Polls that end well and bring nothing while messages wait are a fault as well. */
  async #broughtNothing(): Promise<number> {
    const { host, line } = this.#parts;
    const waitMs = host.clock.now() - this.#askedAt < EMPTY_MS ? EMPTY_MS : 0;
    if (this.#saidToWait === 0) {
      this.#trouble.over();
      if (host.clock.now() - this.#lastBroughtAt < QUIET_MS) return waitMs;
      this.#lastBroughtAt = host.clock.now();
    } else {
      line.renew();
      this.#trouble.tell(
        new GatewayError(
          "channel.unreachable",
          `Telegram says that ${this.#saidToWait} messages wait, and hands none over; look at what stands between ` +
            "Perch and Telegram",
        ),
      );
    }
    try {
      const info = await this.#askBeside((api, signal) => api.getWebhookInfo(signal));
      this.#saidToWait = info.pending_update_count;
    } catch {
      // Polls tell of a Telegram that cannot be reached.
    }
    return waitMs;
  }

  async #failed(failure: Failure): Promise<number | undefined> {
    if (failure.kind !== "refused") {
      this.#networkFailures += 1;
      if (this.#networkFailures % FAILURES_BEFORE_RENEWED === 0) this.#parts.line.renew();
    }
    const isWebhook =
      failure.kind === "refused" && failure.code === 409 && /webhook/i.test(failure.description);
    return isWebhook ? await this.#webhookInTheWay(failure) : this.#trouble.met(failure);
  }

  async #webhookInTheWay(conflict: Failure): Promise<number | undefined> {
    const { host, closing } = this.#parts;
    try {
      const { url = "" } = await this.#askBeside((api, signal) => api.getWebhookInfo(signal));
      // It was only just set, or has been taken away again.
      if (url === "") return this.#trouble.met(conflict);
      if ((await ownWebhooks(host.state)).includes(url)) {
        await this.#askBeside((api, signal) => api.deleteWebhook({}, signal));
        await keepOnlyWebhook(host.state);
        host.log.info({}, "the webhook that this connection had set is taken away; messages are polled");
        return 0;
      }
      this.#trouble.tell(
        new GatewayError(
          "channel.refused",
          `a webhook at ${hostOf(url)} is set for this bot, and Telegram hands messages to it alone; stop the ` +
            "program that set it and remove it with the Bot API's deleteWebhook, or have @BotFather make a new token",
        ),
      );
      return WEBHOOK_PROBE_MS;
    } catch (thrown) {
      return closing.aborted ? undefined : this.#trouble.met(failureOf(thrown));
    }
  }

  /** 0 is the oldest that Telegram has. */
  async #storedOffset(): Promise<number> {
    const { host } = this.#parts;
    try {
      return Number((await host.state.get([OFFSET])).get(OFFSET) ?? 0);
    } catch (thrown) {
      host.log.warn(
        { err: asError(thrown) },
        "where polling ended last is not known; all that waits is asked for",
      );
      return 0;
    }
  }

  async #keepOffset(offset: number): Promise<void> {
    const { host } = this.#parts;
    try {
      await host.state.set({ [OFFSET]: String(offset) });
    } catch (thrown) {
      // The messages are committed; after a restart they would come again and be known as repeats.
      host.log.warn({ err: asError(thrown) }, "where polling stands could not be stored");
    }
  }
}
