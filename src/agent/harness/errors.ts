import type { ModelChoice } from "../../core/agent.ts";
import { GatewayError } from "../../core/errors.ts";

/**
 * Whatever a model call threw, as "model.failed" with a sentence of our own: a provider's words may hold parts of keys
 * and of messages and belong to the cause. A GatewayError passes as it is.
 */
export function modelFailure(thrown: unknown, { provider, name }: ModelChoice): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const status = statusOf(thrown);
  const retryAfterMs = retryAfter(thrown);
  return new GatewayError("model.failed", `${provider}:${name} ${sentence(thrown, status)}`, {
    cause: thrown,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** Whether the provider did not understand what it was sent, so that a simpler request may go through. */
export function refusedAsInvalid(thrown: unknown): boolean {
  return [400, 413, 415, 422].includes(statusOf(thrown) ?? 0);
}

function sentence(thrown: unknown, status: number | undefined): string {
  const { name, lc_error_code: code } = fields(thrown);
  if (name === "ContextOverflowError" || code === "CONTEXT_OVERFLOW") {
    return "takes less text than it was sent; lower limits.characters of this agent";
  }
  if (status === undefined) {
    return brokeOff(thrown)
      ? "could not be reached, or broke off; check its address and try again"
      : "failed before it answered; the cause is in the log";
  }
  if (status === 401 || status === 403) return `refused the API key (status ${status}); check the key`;
  if (status === 404) return "is not known there (status 404); check the model's name and address";
  if (status === 429)
    return "takes no more requests for now (status 429); wait, or check the account's limit";
  if (status >= 500 || status === 408) return `failed on its own side (status ${status}); try again later`;
  return `refused the request as not valid (status ${status})`;
}

const BROKE_OFF = /connection|timeout|socket|terminated|fetch failed|ECONN|ENOTFOUND|EAI_AGAIN/i;

/** Clients have no one class for this; what they share is in the names of Node's and undici's errors. */
function brokeOff(thrown: unknown): boolean {
  const { name, code, message, cause } = fields(thrown);
  const words = [name, code, message].filter((each) => typeof each === "string").join(" ");
  if (BROKE_OFF.test(words)) return true;
  return cause !== undefined && brokeOff(cause);
}

function statusOf(thrown: unknown): number | undefined {
  const { status, cause } = fields(thrown);
  if (typeof status === "number") return status;
  return cause === undefined ? undefined : statusOf(cause);
}

function retryAfter(thrown: unknown): number | undefined {
  const { headers } = fields(thrown);
  const seconds = headers instanceof Headers ? Number(headers.get("retry-after") ?? Number.NaN) : Number.NaN;
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

function fields(thrown: unknown): Readonly<Record<string, unknown>> {
  if (typeof thrown !== "object" || thrown === null) return {};
  return thrown as Readonly<Record<string, unknown>>; // read, never trusted
}
