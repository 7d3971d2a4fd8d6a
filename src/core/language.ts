import type { Language } from "./sentences.ts";

/** Frequent words that the other language does not have. */
const WORDS: Readonly<Record<Language, ReadonlySet<string>>> = {
  en: new Set(
    (
      "the and is are you it that this of to for with have has what how can could would should please thanks thank hello my " +
      "your i i'm don't do does did not but from be been they we he she there where when why who which if or as at by let's " +
      "me them then than its it's want need show make tell give write yes"
    ).split(" "),
  ),
  de: new Set(
    (
      "der die das den dem des ein eine einen einem einer und ist sind ich du er wir ihr sie es nicht mit für auf von zu im bei " +
      "auch noch nur wie wo wann warum wer welche welcher kann kannst könnte bitte danke hallo mein meine dein deine habe hast " +
      "hat war wenn oder aber dass daß mir mich dir dich uns euch kein keine keinen schon jetzt mal doch heute morgen ja nein " +
      "gibt gib mach mache zeig schreib was"
    ).split(" "),
  ),
};

/** A text is as long as a person likes; its language shows at its beginning. */
const CHARACTERS = 4_000;

/** Which language somebody writes in, by frequent words alone; `fallback` where they do not decide. */
export function languageOf(texts: readonly string[], fallback: Language = "en"): Language {
  const words =
    texts
      .join("\n")
      .slice(0, CHARACTERS)
      .toLowerCase()
      .match(/[\p{L}'’]+/gu) ?? [];
  const count = (language: Language): number =>
    words.filter((word) => WORDS[language].has(word.replaceAll("’", "'"))).length;
  // No English word is written with these.
  const letters = words.filter((word) => /[äöüß]/.test(word)).length;
  const [english, german] = [count("en"), count("de") + letters];
  if (english === german) return fallback;
  return german > english ? "de" : "en";
}
