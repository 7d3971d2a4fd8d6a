import { say, type Language } from "../core/sentences.ts";
import { untilWords } from "../core/until-words.ts";
import { inQuotes } from "../core/words.ts";
import { type Pending, pendingIn } from "../store/open-questions.ts";
import { type About, answer, languageIn } from "./about.ts";

/** `/pending`: what waits for an answer, of whom, and how long. */
export async function pending(about: About): Promise<void> {
  const { trx, chat, now, rules } = about;
  const open = await pendingIn(trx, chat, now);
  if (open.length === 0) return await answer(about, "pending.none");
  const language = await languageIn(about);
  const lines = open.map((each) => line(each, language, rules.timeZone)).join("\n");
  await answer(about, "pending.body", { lines });
}

function line(
  { tool, who, asker, expiresAt }: Pending,
  language: Language,
  timeZone: string | undefined,
): string {
  const values = {
    tool: inQuotes(tool),
    who: say(`approval.by_${who === "" ? "addressee" : who}`, language, { name: inQuotes(asker) }),
    until: untilWords(expiresAt, language, timeZone),
  };
  return say(tool === "" ? "pending.question" : "pending.call", language, values);
}
