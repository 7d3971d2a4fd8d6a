import type { ModelChoice } from "../../core/agent.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AroundModel } from "./stage.ts";

/** See `modelFailure`. */
export const failuresNamed: AroundModel = async (asking, next) => {
  try {
    return await next(asking);
  } catch (error) {
    if (asking.signal?.aborted) throw error;
    throw modelFailure(error, asking.choice);
  }
};

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

/**
 * Whether the provider refused what a request contains, so that another request may go through. Some
 * servers answer 404 or 500 where their model has no eyes.
 */
export function refusesContent(thrown: unknown): boolean {
  const status = statusOf(thrown) ?? 0;
  if (isOverflow(thrown)) return false;
  return REFUSALS.has(status) || ((status === 404 || status >= 500) && NO_EYES.test(providersWords(thrown)));
}

const REFUSALS = new Set([400, 413, 415, 422]);
// OpenRouter: "No endpoints found that support image input"; llama.cpp: "image input is not supported - hint: …mmproj"; Ollama: "this model is missing data required for image input".
const NO_EYES = /image input|mmproj|multi-?modal/i;

/** Whether a request holds more than the model takes at once. */
export function isOverflow(thrown: unknown): boolean {
  const known = chain(thrown).some(
    ({ name, lc_error_code: code }) => name === "ContextOverflowError" || code === "CONTEXT_OVERFLOW",
  );
  // LangChain knows it of OpenAI and Anthropic alone.
  return known || ([400, 413].includes(statusOf(thrown) ?? 0) && TOO_LONG.test(providersWords(thrown)));
}

const TOO_LONG =
  /context.?(length|window|size)|maximum context|(prompt|input) is too long|token count[^.]*exceed|too many (input )?tokens/i;

/** Whether a model or its server has no tools, by the words that servers have for it; the call may go through without. */
export function refusesTools(thrown: unknown): boolean {
  const status = statusOf(thrown) ?? 0;
  const couldBe = [400, 404, 422, 500, 501].includes(status);
  return couldBe && /\btools?\b|function.?call/i.test(providersWords(thrown));
}

/** What a provider said: to be searched, never shown, for it may hold parts of keys and of messages. */
export function providersWords(thrown: unknown): string {
  return chain(thrown)
    .flatMap(({ message, error }) => [message, typeof error === "object" ? JSON.stringify(error) : error])
    .filter((each) => typeof each === "string")
    .join("\n");
}

function sentence(thrown: unknown, status: number | undefined): string {
  if (isOverflow(thrown)) {
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

const BROKE_OFF =
  /connection|timeout|socket|terminated|fetch failed|reading from the stream|ECONN|ENOTFOUND|EAI_AGAIN/i;

/** Clients have no one class for this; what they share is in the names of Node's and undici's errors. */
function brokeOff(thrown: unknown): boolean {
  const { name, code, message, cause } = fields(thrown);
  const words = [name, code, message].filter((each) => typeof each === "string").join(" ");
  if (BROKE_OFF.test(words)) return true;
  return cause !== undefined && brokeOff(cause);
}

function statusOf(thrown: unknown): number | undefined {
  for (const { status, status_code: ollamas } of chain(thrown)) {
    if (typeof status === "number") return status;
    if (typeof ollamas === "number") return ollamas;
  }
  return undefined;
}

function retryAfter(thrown: unknown): number | undefined {
  const { headers } = fields(thrown);
  const seconds = headers instanceof Headers ? Number(headers.get("retry-after") ?? Number.NaN) : Number.NaN;
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/** An error and what caused it, as LangChain wraps what middleware throws. */
function chain(thrown: unknown): readonly Readonly<Record<string, unknown>>[] {
  const errors: Readonly<Record<string, unknown>>[] = [];
  for (let error = thrown; error !== undefined && errors.length < 8; error = fields(error)["cause"]) {
    errors.push(fields(error));
  }
  return errors;
}

function fields(thrown: unknown): Readonly<Record<string, unknown>> {
  if (typeof thrown !== "object" || thrown === null) return {};
  return thrown as Readonly<Record<string, unknown>>; // read, never trusted
}
