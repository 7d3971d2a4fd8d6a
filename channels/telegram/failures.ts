import { asError, GatewayError } from "../../src/core/errors.ts";
import { withoutTokens } from "./secrets.ts";
import { TransportError } from "./transport.ts";

/** Why a call gave no result, without addresses, tokens and the text of messages. */
export type Failure =
  /** The Bot API said no; nothing was done. */
  | {
      readonly kind: "refused";
      readonly code: number;
      readonly description: string;
      readonly retryAfterMs?: number;
      readonly movedTo?: number;
    }
  /** No byte of it was written, or it can have had no effect: the whole call may simply be made again. */
  | { readonly kind: "not written"; readonly why: string }
  | { readonly kind: "unknown"; readonly why: string; readonly status?: number }
  /** The bytes of a file to be sent could not be read: the form stayed without its end, so nothing was done. */
  | { readonly kind: "no file"; readonly why: string };

/** Reads what grammY throws. Its errors hold the call's payload or the address, so nothing of them is passed on. */
export function failureOf(thrown: unknown): Failure {
  const error = asError(thrown);
  if ("error_code" in error && "description" in error) return refusal(error);
  const inner: unknown = "error" in error ? error.error : error;
  if (inner instanceof TransportError) {
    if (!inner.written) return { kind: "not written", why: inner.message };
    const status = inner.status === undefined ? {} : { status: inner.status };
    return { kind: "unknown", why: inner.message, ...status };
  }
  if (inner instanceof GatewayError) return { kind: "no file", why: inner.message };
  return { kind: "unknown", why: `the call to Telegram ended with ${asError(inner).name}` };
}

function refusal(error: Error & { readonly error_code: unknown; readonly description: unknown }): Failure {
  const code = Number(error.error_code);
  const description = withoutText(String(error.description));
  // 5xx comes from a server in trouble, which may have done what was asked before.
  if (code >= 500) return { kind: "unknown", why: `Telegram answered ${code}: ${description}`, status: code };
  const parameters = "parameters" in error ? error.parameters : undefined;
  const wait = numberIn(parameters, "retry_after");
  const movedTo = numberIn(parameters, "migrate_to_chat_id");
  return {
    kind: "refused",
    code,
    description,
    ...(wait === undefined ? {} : { retryAfterMs: wait * 1000 }),
    ...(movedTo === undefined ? {} : { movedTo }),
  };
}

/** Telegram quotes what it does not like, which is a part of the message. */
export function withoutText(description: string): string {
  return withoutTokens(description)
    .replaceAll(/"[^"]*"|(?<!\w)'.*'/gs, "“…”")
    .slice(0, 200)
    .replace(/^Bad Request: /, "");
}

function numberIn(parameters: unknown, name: string): number | undefined {
  if (typeof parameters !== "object" || parameters === null || !(name in parameters)) return undefined;
  const value: unknown = parameters[name as keyof typeof parameters]; // it is in there, checked above
  return typeof value === "number" ? value : undefined;
}

/** What Telegram said, in words for the log. */
export function wordsOf(failure: Failure): string {
  return failure.kind === "refused"
    ? `Telegram answered ${failure.code}: ${failure.description}`
    : failure.why;
}
