import type { Language } from "./sentences.ts";

/** "2 Jan, 14:05 CET": when something ends, for people; `timeZone` is IANA, this machine's without it. */
export function untilWords(at: number, language: Language, timeZone: string | undefined): string {
  return new Intl.DateTimeFormat(language === "de" ? "de" : "en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(at);
}
