import type { Api } from "grammy";
import { type Clock, pause } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import { type GrammySignal, within } from "./deadline.ts";
import { type Failure, failureOf } from "./failures.ts";
import type { Pace } from "./pace.ts";
import { messageIn } from "./piece-parameters.ts";
import { destination } from "./place.ts";
import { isNotOurs, isUnchanged, sendError } from "./refusals.ts";
import { OF_ACCOUNT, rowOf } from "./sightings.ts";

export type ProbeParts = { readonly api: Api["raw"]; readonly clock: Clock; readonly pace: Pace };

/** An edit that asks for what is looked for. */
export type Edit = (at: ReturnType<typeof messageIn>, signal: GrammySignal) => Promise<unknown>;

/** Ids that are asked for at most. Private chats count them over all chats of the bot, so that many may lie between two. */
const MOST_CANDIDATES = 20;
const CALL_MS = 10_000;

/**
 * Whether an edit can reach nothing there but messages of ours. In a channel a bot that may edit may edit everybody's, and
 * in the chats of a business account what its owner has written (Bot API ChatAdministratorRights, editMessageText); of a
 * channel's direct messages nobody says.
 * @throws GatewayError "send.*" when Telegram cannot be asked now.
 */
export async function editsOursAlone(
  to: ChatAddress,
  { api, clock, pace }: ProbeParts,
  signal: AbortSignal,
): Promise<boolean> {
  const row = rowOf(to.chat);
  if (row === undefined || row === OF_ACCOUNT) return row === OF_ACCOUNT;
  try {
    const { chat_id } = destination(to);
    const chat = await within(clock, CALL_MS, signal, (cut) => api.getChat({ chat_id }, cut));
    return chat.type === "supergroup" && !chat.is_direct_messages;
  } catch (thrown) {
    assertAsked(to, failureOf(thrown), pace);
    return false;
  }
}

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
    assertAsked(to, failure, pace);
    return "unclear";
  }
}

/** A question may be asked twice, and an edit be made. @throws GatewayError "send.*" where Telegram has not said no to it. */
function assertAsked(to: ChatAddress, failure: Failure, pace: Pace): void {
  if (failure.kind === "unknown") throw new GatewayError("send.not_written", failure.why);
  if (failure.kind === "refused" && failure.retryAfterMs !== undefined)
    pace.blocked(to, failure.retryAfterMs);
  const error = sendError(failure, new Set());
  if (error instanceof GatewayError && error.code !== "send.refused") throw error;
}

/** The ids that lie between two; nothing where they are too many to be asked for. */
export function idsBetween(low: number, high: number): readonly number[] | undefined {
  const count = high - low - 1;
  return count >= 0 && count <= MOST_CANDIDATES
    ? Array.from({ length: count }, (_, index) => low + 1 + index)
    : undefined;
}
