import { GatewayError } from "../../../src/core/errors.ts";
import { stepDown } from "../../../src/core/forms.ts";
import type { Failure } from "./failures.ts";
import type { Form, Forms } from "./forms.ts";

/** Until the token or the account is mended, which a person does. */
const MENDING_MS = 60_000;
const PACE_FIRST_MS = 6_000; // Cloud API, pair rate: one message each 6 s to the same person
const PACE_LONGEST_MS = 256_000; // and its advice: 4 to the power of the tries so far, in seconds

/**
 * What a send that failed means: which of the gateway's ways to go on is right. An error without a code is an unknown
 * outcome. `simpler` are forms that could help, the likeliest first.
 */
export function sendError(
  failure: Failure,
  {
    number,
    forms,
    simpler,
  }: { readonly number: number; readonly forms: Forms; readonly simpler: readonly Form[] },
): Error {
  if (failure.kind === "not written") return new GatewayError("send.not_written", failure.why);
  if (failure.kind === "unknown") return new Error(failure.why);
  const { sort, why, retryAfterMs } = failure;
  switch (sort) {
    case "pace":
      return new GatewayError("send.rate_limited", why, { retryAfterMs: retryAfterMs ?? paceMs(number) });
    case "token":
    case "account":
      // It says nothing against the message, which waits until somebody has mended it.
      return new GatewayError("send.not_written", why, { retryAfterMs: retryAfterMs ?? MENDING_MS });
    case "window":
      return new GatewayError("send.chat_closed", why);
    case "person":
      return new GatewayError("send.refused", why);
    case "message":
    case "media": {
      const next = simpler.map((form) => stepDown(forms, form)).find((form) => form !== undefined);
      return new GatewayError("send.refused", why, next === undefined ? {} : { stepDown: next });
    }
  }
}

/** Of an upload nothing is shown to anybody: what is not known of it may simply be done again. */
export function uploadError(failure: Failure, by: Parameters<typeof sendError>[1]): Error {
  return failure.kind === "unknown"
    ? new GatewayError("send.not_written", `a file was not uploaded: ${failure.why}`)
    : sendError(failure, by);
}

function paceMs(number: number): number {
  return Math.min(PACE_LONGEST_MS, Math.max(PACE_FIRST_MS, 1_000 * 4 ** (number - 1)));
}
