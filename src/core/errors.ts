import type { SpentBudget } from "./budget.ts";

/**
 * What can go wrong, for callers to branch on. Every code is a row in the README's table; a test holds them in step.
 * `send.*` is what a channel says of a send; any other error from it is an unknown outcome.
 */
export type ErrorCode =
  | "config.invalid"
  | "data.in_use"
  | "data.newer"
  | "data.unusable"
  | "store.unavailable"
  | "store.hold_lost"
  | "blob.missing"
  | "media.too_large"
  | "media.unavailable"
  | "media.unreadable"
  | "media.too_slow"
  | "media.not_found"
  | "media.outside_root"
  | "media.not_regular"
  | "model.missing_package"
  | "model.unknown"
  | "model.failed"
  | "agent.invalid"
  | "turn.timed_out"
  | "turn.stopped"
  | "turn.interrupted"
  | "budget.spent"
  | "send.not_written"
  | "send.refused"
  | "send.rate_limited"
  | "send.chat_closed"
  | "send.unanswered"
  | "channel.unreachable"
  | "channel.refused"
  | "http.port_in_use";

/** Why a model did not answer, in what a person can be told of it. */
export type ModelReason =
  /** The provider will not answer this, by its rules. */
  | "refused"
  /** More than the model takes at once. */
  | "overflow"
  | "key"
  /** What the account may use is used up. */
  | "quota"
  /** Too many requests for now. */
  | "rate"
  /** It failed on its own side, or rests after it did. */
  | "busy"
  /** It could not be reached, or broke off. */
  | "broken"
  | "not_found"
  /** The request is not one that it takes. */
  | "invalid";

export type ErrorDetail = {
  readonly cause?: unknown;
  /** How long the platform asks to wait, in milliseconds. */
  readonly retryAfterMs?: number;
  /** With "send.refused": the simpler form that may go through. */
  readonly stepDown?: string;
  /** With "model.failed", where it is known. */
  readonly reason?: ModelReason;
  /** With "budget.spent". */
  readonly spent?: SpentBudget;
};

/** The one error class: what happened, the value, the unit, what to do next; callers branch on `code`. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly retryAfterMs?: number;
  readonly stepDown?: string;
  readonly reason?: ModelReason;
  readonly spent?: SpentBudget;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = "GatewayError";
    this.code = code;
    if (detail.retryAfterMs !== undefined) this.retryAfterMs = detail.retryAfterMs;
    if (detail.stepDown !== undefined) this.stepDown = detail.stepDown;
    if (detail.reason !== undefined) this.reason = detail.reason;
    if (detail.spent !== undefined) this.spent = detail.spent;
  }
}

export function hasCode(error: unknown, code: ErrorCode): error is GatewayError {
  return error instanceof GatewayError && error.code === code;
}

/** Ours in a chain of causes: LangChain wraps what is thrown inside of it. */
export function gatewayErrorIn(thrown: unknown): GatewayError | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth += 1) {
    if (error instanceof GatewayError) return error;
  }
  return undefined;
}

/** What the system calls a fault of its own: "ENOSPC". Unlike the message it names no file. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "syscall" in error && "code" in error ? String(error.code) : undefined;
}

/** Whatever was thrown, as an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
