import type { ModelChoice } from "../../core/agent.ts";
import { GatewayError, type ModelReason } from "../../core/errors.ts";
import { modelKey } from "../model-key.ts";
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
export function modelFailure(thrown: unknown, choice: ModelChoice): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const reason = reasonOf(thrown);
  const waitMs = retryAfterMs(thrown);
  return new GatewayError("model.failed", `${modelKey(choice)} ${sentence(reason, statusOf(thrown))}`, {
    cause: thrown,
    ...(reason === undefined ? {} : { reason }),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  });
}

/** Why a model did not answer; undefined where it never got as far as asking it. */
export function reasonOf(thrown: unknown): ModelReason | undefined {
  const ours = chain(thrown).find((each) => each instanceof GatewayError);
  if (ours) return (ours as unknown as GatewayError).reason; // an instance, as has been looked
  if (isOverflow(thrown)) return "overflow";
  const status = statusOf(thrown);
  const words = providersWords(thrown);
  if (status === undefined) {
    // Once a stream has begun, its status has been 200, and words are all there is.
    if (/overloaded|api_error|server_error|internal error/i.test(words)) return "busy";
    if (/rate.?limit/i.test(words)) return "rate";
    return brokeOff(thrown) ? "broken" : undefined;
  }
  if (status === 402 || isUsedUp(status, words)) return "quota";
  if ([400, 403, 422, 451].includes(status) && POLICY.test(words)) return "refused";
  // Google answers 400 to a key that it does not know.
  if (status === 401 || status === 403 || (status === 400 && WRONG_KEY.test(words))) return "key";
  if (status === 404 || status === 410) return "not_found";
  if (status === 429) return "rate";
  if (status >= 500 || [408, 409, 425].includes(status)) return "busy";
  return status === 413 ? "overflow" : "invalid";
}

const POLICY =
  /content.?(policy|filter|management)|usage polic|moderation|flagged|safety (system|reasons|setting)/i;
const WRONG_KEY =
  /api.?key (is )?(not valid|invalid|expired|not found)|(invalid|incorrect) api.?key|API_KEY_INVALID/i;

/** An account that has nothing left, which a wait of seconds does not mend. */
function isUsedUp(status: number, words: string): boolean {
  if (![400, 403, 429].includes(status)) return false;
  if (/insufficient_quota|credit balance|out of credits|per.?day/i.test(words)) return true;
  // Google says of a limit for a minute the same as OpenAI of an account without money.
  const passing = /per.?(minute|second)|retry.?(in|delay)/i.test(words);
  return !passing && /exceeded (your|the) (current )?quota|billing/i.test(words);
}

/** Whether the same request may go through a little later. */
export function mayPass(thrown: unknown): boolean {
  const reason = reasonOf(thrown);
  if (chain(thrown).some((each) => each instanceof GatewayError)) return false;
  if (reason !== "rate" && reason !== "busy" && reason !== "broken") return false;
  const status = statusOf(thrown);
  return status === undefined || PASSING.has(status);
}

// 529 is Anthropic's "overloaded".
const PASSING = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529]);

/** Whether too many requests came at once, rather than in a minute: such a limit wants a longer pause. */
export function isBurst(thrown: unknown): boolean {
  return statusOf(thrown) === 429 && /burst|too quickly|concurren/i.test(providersWords(thrown));
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

/** How many pictures a request may hold, where the provider refused one of `shown` for that; undefined where for anything else. */
export function picturesTaken(thrown: unknown, shown: number): number | undefined {
  if (!REFUSALS.has(statusOf(thrown) ?? 0)) return undefined;
  const words = providersWords(thrown);
  // Anthropic: "…max allowed size for many-image requests: 2000 pixels"; vLLM: "At most 4 image(s) may be provided".
  if (!/many.?image|too many images|(number of|more than \d+|at most \d+) images?\b/i.test(words))
    return undefined;
  const said = Number(/(?:at most|more than|maximum of) (\d+) images?/i.exec(words)?.[1] ?? Number.NaN);
  const most = said < shown ? said : Math.floor(shown / 2);
  return most > 0 ? most : undefined;
}

/** Whether a model or its server has no tools, by the words that servers have for it; the call may go through without. */
export function refusesTools(thrown: unknown): boolean {
  const status = statusOf(thrown) ?? 0;
  const couldBe = [400, 404, 422, 500, 501].includes(status);
  return couldBe && /\btools?\b|function.?call/i.test(providersWords(thrown));
}

/** What a provider said: to be searched, never shown, for it may hold parts of keys and of messages. */
export function providersWords(thrown: unknown): string {
  return chain(thrown)
    .flatMap(({ message, error, errorDetails }) => [message, ...[error, errorDetails].map(asText)])
    .filter((each) => typeof each === "string")
    .join("\n");
}

function asText(detail: unknown): unknown {
  return typeof detail === "object" ? JSON.stringify(detail) : detail;
}

function sentence(reason: ModelReason | undefined, status: number | undefined): string {
  const by = status === undefined ? "" : ` (status ${status})`;
  switch (reason) {
    case "overflow":
      return "takes less text than it was sent; lower limits.characters of this agent";
    case "broken":
      return "could not be reached, or broke off; check its address and try again";
    case "key":
      return `refused the API key${by}; check the key`;
    case "quota":
      return `has no more of what its account may use${by}; check the account`;
    case "rate":
      return `takes no more requests for now${by}; wait, or check the account's limit`;
    case "not_found":
      return `is not known there${by}; check the model's name and address`;
    case "busy":
      return `failed on its own side${by}; try again later`;
    case "refused":
      return `does not answer this by its provider's rules${by}`;
    case "invalid":
      return `refused the request as not valid${by}`;
    case undefined:
      return "failed before it answered; the cause is in the log";
  }
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

/** What a provider has answered with instead of an answer; undefined where it said nothing of the kind. */
export function statusOf(thrown: unknown): number | undefined {
  for (const { status, status_code: ollamas } of chain(thrown)) {
    if (typeof status === "number") return status;
    if (typeof ollamas === "number") return ollamas;
  }
  return undefined;
}

/** Whether nobody has worked on a request: the provider has refused it, or was not there to take it. */
export function costNothing(thrown: unknown): boolean {
  return statusOf(thrown) !== undefined || chain(thrown).some(({ code }) => UNREACHED.has(code));
}

const UNREACHED: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/**
 * How long the provider asks to wait. `now` (epoch ms) is for those that name a date; without it such a date is not
 * read.
 */
export function retryAfterMs(thrown: unknown, now?: number): number | undefined {
  for (const { headers, errorDetails } of chain(thrown)) {
    const ms = Number(header(headers, "retry-after-ms") ?? Number.NaN);
    if (ms >= 0) return ms;
    const after = header(headers, "retry-after") ?? googlesDelay(errorDetails);
    if (after === undefined) continue;
    if (/^\d+(\.\d+)?$/.test(after.trim())) return Number(after) * 1000;
    const date = Date.parse(after);
    if (Number.isFinite(date) && now !== undefined) return Math.max(0, date - now);
  }
  return undefined;
}

function header(headers: unknown, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = fields(headers)[name];
  return typeof value === "string" ? value : undefined;
}

/** Google's client keeps no headers, but the details of the answer: `{"@type": "…RetryInfo", "retryDelay": "20s"}`. */
function googlesDelay(details: unknown): string | undefined {
  if (!Array.isArray(details)) return undefined;
  const delay = details.map((each) => fields(each)["retryDelay"]).find((each) => typeof each === "string");
  return delay?.replace(/s$/, "");
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
