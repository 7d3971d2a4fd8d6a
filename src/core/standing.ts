import type { ConnectionState } from "./channel.ts";
import { type Language, say } from "./sentences.ts";
import { durationWords } from "./words.ts";

/** Where a connection stands, in words: "open", "tries again in 12 s: the network is down". */
export function standingWords(state: ConnectionState, now: number, language: Language = "en"): string {
  const left = "until" in state ? durationWords(Math.max(state.until - now, 0) / 1_000) : "";
  const why = "why" in state ? state.why : "";
  return say(`connection.${state.is}`, language, { left, why });
}
