import { withoutSecrets } from "./secrets.ts";

/** Why a call gave no result, in words without addresses, tokens, phone numbers and the text of messages. */
export type Failure =
  /** No byte of it was written. */
  | { readonly kind: "not written"; readonly why: string }
  /** It was written, and whether it was done is not known. */
  | { readonly kind: "unknown"; readonly why: string }
  /** Meta said no; nothing was done. `code` is the Graph API's, or the HTTP status where there is none. */
  | {
      readonly kind: "refused";
      readonly code: number;
      readonly sort: Sort;
      readonly why: string;
      readonly retryAfterMs?: number;
    };

/** What a refusal is about, which says what helps. */
export type Sort =
  /** Too much was sent: it goes after a wait. */
  | "pace"
  /** The token or what it may do. */
  | "token"
  /** The account or its number may not send now. */
  | "account"
  /** Nothing may be written to this person until they write. */
  | "window"
  /** This person cannot be written to. */
  | "person"
  /** This message, in this form. */
  | "message"
  /** This medium. */
  | "media";

/**
 * What is known of Meta's codes, whatever HTTP status comes with them; those that are no definite no (1, 2, 131000,
 * 131016, 133004) are left to the status. Source: WhatsApp Business Platform, error codes.
 */
const CODES: Readonly<Record<number, readonly [Sort, string]>> = {
  0: ["token", "the token is not accepted any more"],
  3: ["token", "the token has not the permission for this"],
  4: ["pace", "the app has made too many calls"],
  10: ["token", "the token has not the permission for this"],
  33: ["account", "the phone number id is not known, or the number was deleted"],
  190: ["token", "the token has expired or was taken back"],
  368: ["account", "the account is blocked for a while for breaking Meta's rules"],
  80007: ["pace", "the account has made too many calls"],
  130429: ["pace", "too many messages were sent from this number"],
  130472: ["person", "Meta keeps this person out of what businesses send, for an experiment"],
  130497: ["person", "the account may not write to people in this country"],
  131005: ["token", "the token has not the permission for this"],
  131021: ["person", "the number would write to itself"],
  131026: ["person", "the message cannot be delivered to this person"],
  131030: ["person", "the person is not among those that a test number may write to"],
  131031: ["account", "the account is locked"],
  131042: ["account", "there is a trouble with how the account pays"],
  131045: ["account", "the number is not registered for sending"],
  131047: ["window", "the person has not written for more than 24 hours"],
  131048: ["pace", "Meta holds back this number, whose messages were blocked or reported too often"],
  131049: ["person", "Meta has chosen not to deliver it to this person"],
  131050: ["person", "the person wants no messages of this kind"],
  131051: ["message", "the type of message is not supported"],
  131052: ["media", "the medium could not be downloaded"],
  131053: ["media", "the medium could not be uploaded or is of a type that is not taken"],
  131056: ["pace", "too many messages were sent to this person"],
  131057: ["account", "the account is in maintenance"],
  131062: ["person", "such a message cannot be sent to a person without a phone number"],
  133010: ["account", "the number is not registered for the Cloud API"],
  133016: ["pace", "the number was registered too often"],
};

/** Reads an answer that is none: its error object where there is one, else its status alone. */
export function refusalIn(
  status: number,
  said: Readonly<Record<string, unknown>> | undefined,
  retryAfter?: string,
): Failure {
  const error = asRecord(said?.["error"]);
  const code = codeIn(error);
  const known = Number.isInteger(code) ? (CODES[code] ?? permission(code)) : undefined;
  const words = wordsOf(error);
  const told = Number.isInteger(code) ? `${status}, code ${code}` : String(status);
  const why = `Meta answered ${told}${known ? `: ${known[1]}` : ""}${words === "" ? "" : ` (${words})`}`;
  if (!known && (status >= 500 || status === 408 || status < 400)) return { kind: "unknown", why };
  const waitMs = Number(retryAfter) * 1_000;
  return {
    kind: "refused",
    code: Number.isInteger(code) ? code : status,
    sort: known?.[0] ?? sortOfStatus(status, Number.isInteger(code)),
    why,
    ...(waitMs > 0 ? { retryAfterMs: waitMs } : {}),
  };
}

/** What a code of a failed delivery means, for people; Meta's title where we know none. */
export function whyOf(code: number, title: string): string {
  const known = CODES[code]?.[1] ?? permission(code)?.[1];
  return known ?? `Meta says: ${title === "" ? "no reason" : withoutSecrets(title)} (${code})`;
}

/** "Object does not exist" of a wrong phone number id comes as a wrong parameter, and more closely. */
function codeIn(error: Readonly<Record<string, unknown>> | undefined): number {
  const code = Number(error?.["code"] ?? Number.NaN);
  return code === 100 && error?.["error_subcode"] === 33 ? 33 : code;
}

function permission(code: number): readonly [Sort, string] | undefined {
  return code >= 200 && code <= 299 ? ["token", "the token has not the permission for this"] : undefined;
}

/** Of a code that we do not know, 400 says nothing against the token; without one, an edge has answered. */
function sortOfStatus(status: number, hasCode: boolean): Sort {
  if (status === 429) return "pace";
  if (status === 401) return "token";
  if (status === 413) return "media";
  return status === 403 && hasCode ? "token" : "message";
}

function wordsOf(error: Readonly<Record<string, unknown>> | undefined): string {
  const details = asRecord(error?.["error_data"])?.["details"];
  const message = error?.["message"];
  const said = typeof details === "string" && details !== "" ? details : message;
  return typeof said === "string" ? withoutSecrets(said) : "";
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined; // its values are unknown
}
