import { describe, expect, it } from "vitest";
import type { BoundNow } from "../../src/core/budget.ts";
import { spentWords, usedWords, warningWords } from "../../src/core/words-of-budget.ts";

/** 31 January 2024, 12:00 in Berlin. */
const now = Date.parse("2024-01-31T11:00:00Z");
const midnight = Date.parse("2024-01-31T23:00:00Z");

function bound(fields: Partial<BoundNow> = {}): BoundNow {
  return {
    scope: "person",
    channel: "toy",
    subject: "ada",
    measure: "turns",
    limit: 1_200,
    from: now,
    until: now + 3_600_000,
    ...fields,
  };
}

const en = { language: "en", timeZone: "Europe/Berlin", now } as const;
const de = { ...en, language: "de" } as const;

describe("what is said of a budget that is used up", () => {
  it.each([
    [
      bound(),
      "Your budget is used up: 1,200 turns an hour. It begins anew at 13:00; please ask again then.",
      "Dein Kontingent ist aufgebraucht: 1.200 Anfragen je Stunde. Es beginnt um 13:00 Uhr neu; bitte dann noch einmal fragen.",
    ],
    [
      bound({ scope: "agent", subject: "helper", measure: "cost", limit: 2_500_000, until: midnight }),
      "The budget of helper is used up: costs of 2.5 a month. It begins anew on February 1 at 00:00; please ask again then.",
      "Das Kontingent von helper ist aufgebraucht: Kosten von 2,5 im Monat. Es beginnt am 1. Februar um 00:00 Uhr neu; bitte dann noch einmal fragen.",
    ],
    [
      bound({ scope: "total", measure: "media", limit: 90, until: midnight }),
      "The budget for everybody together is used up: 1.5 min of sound and video a day. It begins anew on February 1 at 00:00; please ask again then.",
      "Das Kontingent für alle zusammen ist aufgebraucht: 1,5 min Ton und Video am Tag. Es beginnt am 1. Februar um 00:00 Uhr neu; bitte dann noch einmal fragen.",
    ],
    [
      bound({ scope: "chat", measure: "tokens", limit: 0 }),
      "The budget of this chat is none: 0 tokens a day.",
      "Das Kontingent dieses Chats ist null: 0 Token am Tag.",
    ],
  ])("is %o", (spent, english, german) => {
    expect(spentWords(spent, en)).toBe(english);
    expect(spentWords(spent, de)).toBe(german);
  });

  it("names the costs of a whole number as one", () => {
    const cost = (limit: number) => spentWords(bound({ measure: "cost", limit }), en);
    expect(cost(20_000_000)).toContain("costs of 20 a month");
    expect(cost(100_000_000)).toContain("costs of 100 a month");
    expect(cost(500)).toContain("costs of 0.0005 a month");
  });
});

describe("what is said of one that is used in part", () => {
  it("has how much, never more than all of it, and when it begins anew", () => {
    expect(warningWords(bound(), 1_000, en)).toBe(
      "Your budget is used to 83 %: 1,200 turns an hour. It begins anew at 13:00.",
    );
    expect(warningWords(bound(), 9_999, de)).toBe(
      "Dein Kontingent ist zu 100 % aufgebraucht: 1.200 Anfragen je Stunde. Es beginnt um 13:00 Uhr neu.",
    );
    expect(usedWords(bound(), { used: 12, lifted: true }, en)).toBe(
      "Your budget: 12 of 1,200 turns an hour, anew at 13:00; lifted until then",
    );
  });
});
