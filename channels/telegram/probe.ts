import type { Api } from "grammy";
import { type Clock, pause } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import { type GrammySignal, within } from "./deadline.ts";
import { failureOf } from "./failures.ts";
import type { Pace } from "./pace.ts";
import { messageIn } from "./piece-parameters.ts";
import { isNotOurs, isUnchanged, sendError } from "./refusals.ts";

export type ProbeParts = { readonly api: Api["raw"]; readonly clock: Clock; readonly pace: Pace };

/** An edit that asks for what is looked for. */
export type Edit = (at: ReturnType<typeof messageIn>, signal: GrammySignal) => Promise<unknown>;

/** Ids that are asked for at most. Private chats count them over all chats of the bot, so that many may lie between two. */
const MOST_CANDIDATES = 20;
const CALL_MS = 10_000;

/**
 * Whether a message says exactly what an edit asks for: Telegram cannot be asked for a message, but it refuses an edit that
 * changes nothing with "message is not modified", which proves that it stands there. "changed" is a message of ours that said
 * something else until now.
 * @throws GatewayError "send.*" when Telegram cannot be asked now.
 */
export async function probe(
  to: ChatAddress,
  id: number,
  edit: Edit,
  { clock, pace }: ProbeParts,
  signal: AbortSignal,
): Promise<"the same" | "changed" | "not ours" | "unclear"> {
  await pause(clock, pace.readyAt(to) - clock.now(), signal);
  pace.took(to);
  try {
    await within(clock, CALL_MS, signal, (cut) => edit(messageIn(to, id), cut));
    return "changed";
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (isUnchanged(failure)) return "the same";
    if (isNotOurs(failure)) return "not ours";
    // An edit may be made twice.
    if (failure.kind === "unknown") throw new GatewayError("send.not_written", failure.why);
    if (failure.kind === "refused" && failure.retryAfterMs !== undefined)
      pace.blocked(to, failure.retryAfterMs);
    const error = sendError(failure, new Set());
    if (error instanceof GatewayError && error.code !== "send.refused") throw error;
    return "unclear";
  }
}

/** The ids that lie between two; nothing where they are too many to be asked for. */
export function idsBetween(low: number, high: number): readonly number[] | undefined {
  const count = high - low - 1;
  return count >= 0 && count <= MOST_CANDIDATES
    ? Array.from({ length: count }, (_, index) => low + 1 + index)
    : undefined;
}
