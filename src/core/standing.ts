import type { ChannelId } from "./identity.ts";
import { type Language, say } from "./sentences.ts";
import { durationWords } from "./words.ts";

/** Where a connection stands that lasts, in what a person has to know. `why` is one sentence without a secret. */
export type ConnectionState =
  | { readonly is: "connecting" }
  | { readonly is: "open" }
  /** Another process is it. */
  | { readonly is: "elsewhere" }
  /** Somebody is to scan a code or type one, until then (epoch ms). */
  | { readonly is: "pairing"; readonly until: number }
  /** It tries again by itself then (epoch ms). */
  | { readonly is: "waiting"; readonly until: number; readonly why: string }
  | { readonly is: "unpaired"; readonly why: string }
  /** It does not go on by itself. */
  | { readonly is: "stopped"; readonly why: string };

/** A connection as people are shown it. */
export type ConnectionShown = {
  readonly id: ChannelId;
  readonly kind: string;
  /** `ConnectionState.is`, or "off". */
  readonly is: string;
  /** Where it stands, in words. */
  readonly words: string;
  /** Whether it is linked with an account by a code. */
  readonly pairs: boolean;
};

/** Where a connection stands, in words: "open", "tries again in 12 s: the network is down". */
export function standingWords(state: ConnectionState, now: number, language: Language = "en"): string {
  const left = "until" in state ? durationWords(Math.max(state.until - now, 0) / 1_000) : "";
  const why = "why" in state ? state.why : "";
  return say(`connection.${state.is}`, language, { left, why });
}
