import type { Api } from "grammy";
import type { Update, UserFromGetMe } from "grammy/types";
import type { ChannelHost } from "../../src/core/channel.ts";
import { pause } from "../../src/core/clock.ts";
import { asError, GatewayError } from "../../src/core/errors.ts";
import { within } from "./deadline.ts";
import { type Failure, failureOf, wordsOf } from "./failures.ts";
import { type BotIdentity, batchToEvents, toEvents } from "./inbound.ts";

const POLL_SECONDS = 30;
/** A poll that is not answered so long after its own end hangs on a dead connection. */
const GRACE_MS = 15_000;
const BATCH = 100; // Bot API getUpdates: 1–100
/** What toEvents reads. Telegram keeps the list until it is told another. */
const ALLOWED = ["message"] as const;

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const CONFLICT_FIRST_MS = 5_000;
const CONFLICT_LONGEST_MS = 60_000;
/** After a restart the poll of the process before ends by itself; what lasts longer is another program. */
const CONFLICTS_BEFORE_TOLD = 5;
const WEBHOOK_PROBE_MS = 60_000;

const OFFSET = "offset";

/**
 * Takes in what people send until `closing` aborts: a batch is committed before Telegram is asked for what comes after
 * it, and asking is what makes Telegram forget it. One poll at a time. Never rejects; ends by itself when Telegram does
 * not accept the token, which `host.failed` tells.
 */
export async function poll(parts: {
  readonly api: Api["raw"];
  readonly host: ChannelHost;
  readonly closing: AbortSignal;
  readonly known: (me: UserFromGetMe) => void;
}): Promise<void> {
  const { api, host, closing, known } = parts;
  const trouble = new Trouble(host);
  let me: UserFromGetMe | undefined;
  let offset: number | undefined;
  let notAccepted = 0;
  while (!closing.aborted) {
    let updates: readonly Update[];
    try {
      if (!me) {
        me = await within(host.clock, GRACE_MS, closing, (signal) => api.getMe(signal));
        known(me);
      }
      offset ??= await storedOffset(host);
      const asked = { timeout: POLL_SECONDS, limit: BATCH, allowed_updates: ALLOWED, offset };
      updates = await within(host.clock, POLL_SECONDS * 1000 + GRACE_MS, closing, (signal) =>
        api.getUpdates(asked, signal),
      );
      trouble.over();
    } catch (thrown) {
      if (closing.aborted) return;
      const waitMs = trouble.met(failureOf(thrown));
      if (waitMs === undefined) return;
      await pause(host.clock, waitMs, closing);
      continue;
    }
    const last = updates.at(-1);
    if (!last) continue;
    try {
      const events = eventsOf(updates, me, host);
      if (events.length > 0) await host.accept(events);
      notAccepted = 0;
    } catch (thrown) {
      // Not confirmed, so Telegram hands the same batch over again.
      const waitMs = growing(notAccepted, FIRST_WAIT_MS, LONGEST_WAIT_MS);
      notAccepted += 1;
      host.log.error({ err: asError(thrown), waitMs }, "messages could not be stored; asked for again");
      await pause(host.clock, waitMs, closing);
      continue;
    }
    offset = last.update_id + 1;
    await keepOffset(host, offset);
  }
}

/** An update that breaks the reading of it must not hold up those behind it for ever. */
function eventsOf(
  updates: readonly Update[],
  me: BotIdentity,
  { log }: ChannelHost,
): ReturnType<typeof batchToEvents> {
  const readable = updates.filter((update) => {
    try {
      toEvents(update, me);
      return true;
    } catch (thrown) {
      log.error(
        { update: update.update_id, err: asError(thrown) },
        "an update that cannot be read is left out",
      );
      return false;
    }
  });
  return batchToEvents(readable, me);
}

/** 0 is the oldest that Telegram has. */
async function storedOffset(host: ChannelHost): Promise<number> {
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

async function keepOffset(host: ChannelHost, offset: number): Promise<void> {
  try {
    await host.state.set({ [OFFSET]: String(offset) });
  } catch (thrown) {
    // The messages are committed; after a restart they would come again and be known as repeats.
    host.log.warn({ err: asError(thrown) }, "where polling stands could not be stored");
  }
}

/** What a row of failed polls means, and how long to wait in it. */
class Trouble {
  readonly #host: ChannelHost;
  #failures = 0;
  #conflicts = 0;
  #told = false;

  constructor(host: ChannelHost) {
    this.#host = host;
  }

  over(): void {
    if (this.#failures > 0) this.#host.log.info({ failures: this.#failures }, "Telegram is polled again");
    this.#failures = 0;
    this.#conflicts = 0;
    if (this.#told) this.#host.recovered();
    this.#told = false;
  }

  /** Milliseconds to wait; undefined when there is no use in going on. */
  met(failure: Failure): number | undefined {
    const host = this.#host;
    if (failure.kind === "refused" && (failure.code === 401 || failure.code === 404)) {
      host.failed(new GatewayError("channel.refused", badToken(host.id, failure.code)));
      return undefined;
    }
    const waitMs = this.#waitFor(failure);
    const log = this.#failures === 0 ? host.log.warn : host.log.debug;
    this.#failures += 1;
    log({ waitMs, why: wordsOf(failure) }, "Telegram could not be polled; tried again after a wait");
    return waitMs;
  }

  #waitFor(failure: Failure): number {
    if (failure.kind === "refused" && failure.code === 409) {
      if (/webhook/i.test(failure.description)) {
        this.#tell(
          "a webhook is set for this bot, and Telegram hands messages to it alone; stop the program that set it, " +
            "or remove it with the Bot API's deleteWebhook",
        );
        return WEBHOOK_PROBE_MS;
      }
      const waitMs = growing(this.#conflicts, CONFLICT_FIRST_MS, CONFLICT_LONGEST_MS);
      this.#conflicts += 1;
      if (this.#conflicts === CONFLICTS_BEFORE_TOLD)
        this.#tell(
          "another program reads this bot's messages with the same token; stop it, or have @BotFather make a new " +
            "token and set it here",
        );
      // Two programs that wait alike would meet again and again.
      return waitMs * (1 + Math.random() / 4);
    }
    if (failure.kind === "refused" && failure.retryAfterMs !== undefined) return failure.retryAfterMs;
    return growing(this.#failures, FIRST_WAIT_MS, LONGEST_WAIT_MS);
  }

  #tell(sentence: string): void {
    if (!this.#told) this.#host.failed(new GatewayError("channel.refused", sentence));
    this.#told = true;
  }
}

function badToken(channel: string, code: number): string {
  const why = code === 401 ? "it was revoked or mistyped" : "it is no token, or apiRoot is no Bot API";
  return (
    `Telegram does not accept the token of the channel “${channel}” (${code}): ${why}; ` +
    `set channels.${channel}.token to what @BotFather shows under /mybots`
  );
}

function growing(before: number, firstMs: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** before, longestMs);
}
