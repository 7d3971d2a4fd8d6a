import { type Language, say } from "./sentences.ts";
import type { WindowUse } from "./usage.ts";

/** "12,345", or "12.345" in German. */
export function numberWords(count: number, language: Language): string {
  const groups = language === "de" ? "." : ",";
  return String(Math.round(count)).replaceAll(/\B(?=(?:\d{3})+$)/g, groups);
}

/** How many tokens, and that they are a guess where they are. */
export function tokenWords({ tokens, estimated }: WindowUse, language: Language): string {
  const count = numberWords(estimated ? rounded(tokens) : tokens, language);
  return estimated ? say("tokens.about", language, { count }) : count;
}

/** Two digits are as much as a guess has. */
function rounded(tokens: number): number {
  const unit = 10 ** Math.max(0, String(Math.round(tokens)).length - 2);
  return Math.round(tokens / unit) * unit;
}

/** "0.0123": of millionths of the operator's currency. */
export function costWords(micros: number): string {
  return (micros / 1_000_000).toFixed(micros < 10_000 ? 6 : micros < 1_000_000 ? 4 : 2);
}
