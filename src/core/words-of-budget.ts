import type { BoundNow, Measure, Scope, SpentBudget } from "./budget.ts";
import { type Language, say, type SentenceKey } from "./sentences.ts";
import { costWords, numberWords } from "./words-of-use.ts";

/** Where and when something is said of a budget. */
export type Saying = {
  readonly language: Language;
  /** IANA; this machine's without it. */
  readonly timeZone: string | undefined;
  readonly now: number;
};

/** "Your budget is used up: 20 turns an hour. It begins anew at 15:00; please ask again then." */
export function spentWords(spent: SpentBudget, saying: Saying): string {
  const { language } = saying;
  const named = { whose: whoseWords(spent, language), limit: limitWords(spent, language) };
  // What nobody may use comes back at no time.
  if (spent.limit === 0) return say("budget.none", language, named);
  return say("budget.spent", language, { ...named, when: whenWords(spent.until, saying) });
}

/** "Your budget is used to 84 %: 20 turns an hour. It begins anew at 15:00." */
export function warningWords(bound: BoundNow, used: number, saying: Saying): string {
  const { language } = saying;
  return say("budget.warning", language, {
    whose: whoseWords(bound, language),
    percent: Math.min(100, Math.floor((100 * used) / bound.limit)),
    limit: limitWords(bound, language),
    when: whenWords(bound.until, saying),
  });
}

/** "Your budget: 12 of 20 turns an hour, anew at 15:00". */
export function usedWords(
  bound: BoundNow,
  { used, lifted }: { readonly used: number; readonly lifted: boolean },
  saying: Saying,
): string {
  const { language } = saying;
  return say("budget.line", language, {
    whose: whoseWords(bound, language),
    used: amountWords(bound.measure, used, language),
    limit: limitWords(bound, language),
    when: whenWords(bound.until, saying),
    lifted: lifted ? say("budget.line_lifted", language) : "",
  });
}

const WHOSE: Readonly<Record<Scope, SentenceKey>> = {
  person: "budget.whose_person",
  chat: "budget.whose_chat",
  agent: "budget.whose_agent",
  total: "budget.whose_total",
};

const LIMITS: Readonly<Record<Measure, SentenceKey>> = {
  turns: "budget.turns",
  tokens: "budget.tokens",
  cost: "budget.cost",
  media: "budget.media",
};

function whoseWords({ scope, subject }: Pick<BoundNow, "scope" | "subject">, language: Language): string {
  return say(WHOSE[scope], language, { agent: subject });
}

function limitWords({ measure, limit }: Pick<BoundNow, "measure" | "limit">, language: Language): string {
  return say(LIMITS[measure], language, { count: amountWords(measure, limit, language) });
}

function amountWords(measure: Measure, amount: number, language: Language): string {
  switch (measure) {
    case "turns":
    case "tokens":
      return numberWords(amount, language);
    case "cost":
      return decimal(costWords(amount).replace(/\.?0+$/, ""), language);
    case "media":
      return decimal(String(Math.round(amount / 6) / 10), language);
  }
}

function decimal(number: string, language: Language): string {
  return language === "de" ? number.replace(".", ",") : number;
}

/** The time, and the day where that is not today. */
function whenWords(at: number, { language, timeZone, now }: Saying): string {
  const zone = timeZone === undefined ? {} : { timeZone };
  const day = new Intl.DateTimeFormat(language, { ...zone, day: "numeric", month: "long" });
  const time = new Intl.DateTimeFormat(language, {
    ...zone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const values = { time: time.format(at), date: day.format(at) };
  return say(day.format(now) === values.date ? "budget.at_time" : "budget.at_date", language, values);
}
