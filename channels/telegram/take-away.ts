import type { Api } from "grammy";
import { type Clock, pause } from "../../src/core/clock.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import { within } from "./deadline.ts";
import { type Failure, failureOf } from "./failures.ts";
import type { Pace } from "./pace.ts";
import { destination } from "./place.ts";

export type TakeAwayParts = {
  readonly api: Api["raw"];
  readonly clock: Clock;
  readonly pace: Pace;
  /** How often Telegram is asked; without it until it answers. */
  readonly mostTries?: number;
};

const MOST_AT_ONCE = 100; // Bot API deleteMessages: 1–100
const CALL_MS = 10_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Deletes messages of ours. What is gone already, or cannot be deleted any more, is as good as deleted; what Telegram does
 * not answer is tried again until `signal` aborts. Gives those that it has come to no end with. Never throws.
 */
export async function takeAway(
  to: ChatAddress,
  ids: readonly number[],
  parts: TakeAwayParts,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const left: number[] = [];
  for (let from = 0; from < ids.length; from += MOST_AT_ONCE) {
    const batch = ids.slice(from, from + MOST_AT_ONCE);
    const outcome = await tried(to, batch, parts, signal);
    if (outcome === "open") left.push(...batch);
    // One that is too old stands in the way of the others.
    else if (outcome === "refused" && batch.length > 1)
      for (const id of batch) if ((await tried(to, [id], parts, signal)) === "open") left.push(id);
  }
  return left;
}

async function tried(
  to: ChatAddress,
  ids: readonly number[],
  parts: TakeAwayParts,
  signal: AbortSignal,
): Promise<"gone" | "refused" | "open"> {
  const { clock, pace, mostTries = Infinity } = parts;
  for (let tries = 1; ; tries += 1) {
    try {
      await remove(to, ids, parts, signal);
      return "gone";
    } catch (thrown) {
      const failure = failureOf(thrown);
      const waitMs = waitFor(failure, tries);
      if (waitMs === undefined) return "refused";
      if (failure.kind === "refused") pace.blocked(to, waitMs);
      if (tries >= mostTries || signal.aborted) return "open";
      await pause(clock, waitMs, signal);
      if (signal.aborted) return "open";
    }
  }
}

async function remove(
  to: ChatAddress,
  ids: readonly number[],
  { api, clock }: TakeAwayParts,
  signal: AbortSignal,
): Promise<void> {
  const { chat_id, business_connection_id } = destination(to);
  const message_ids = [...ids];
  await within(clock, CALL_MS, signal, async (cut) =>
    business_connection_id === undefined
      ? api.deleteMessages({ chat_id, message_ids }, cut)
      : api.deleteBusinessMessages({ business_connection_id, message_ids }, cut),
  );
}

/** Milliseconds until it is tried again; undefined where it would be refused again. */
function waitFor(failure: Failure, tries: number): number | undefined {
  const isRefused = failure.kind === "refused" && failure.code !== 429;
  if (isRefused || failure.kind === "no file") return undefined;
  const asked = failure.kind === "refused" ? failure.retryAfterMs : undefined;
  return asked ?? Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS);
}
