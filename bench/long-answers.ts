import { answerOf } from "./answers.ts";

/** Answers of `length` UTF-16 units that are long in one way each, by what they are. */
export function longAnswers(length: number): Readonly<Record<string, string>> {
  const repeated = (unit: string): string => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
  return {
    "an answer as models write them": answerOf(1, length),
    "one paragraph": repeated("The river runs **below** its _bank_ and `waits`. "),
    "one block of code": `\`\`\`ts\n${repeated("const angle = refract(height, depth);\n")}\n\`\`\``,
    "one list": repeated("- the **river** runs below its bank\n"),
    "one table": `| a | b |\n| --- | --- |\n${repeated("| the river | *runs* below |\n")}`,
    "one quote": repeated("> The river runs **below** its bank.\n"),
    "one word": repeated("riverrun"),
    "signs that open and never close": repeated("**a _b `c [d ~~e "),
  };
}
