import type { CommandWords } from "../core/host.ts";
import { COMMANDS } from "../core/commands.ts";
import type { ChannelRules } from "../core/rules.ts";
import { type Language, say } from "../core/sentences.ts";

/** What people can ask for with "/": our own commands, and behind them those that the operator names. */
export function commandWords(rules: ChannelRules | undefined, language: Language): readonly CommandWords[] {
  // A code is typed where nobody else sees it, and given out only where the rules say so.
  const pairs = rules?.strangers === "pair";
  return [
    ...COMMANDS.filter((name) => name !== "pair" || pairs).map((name): CommandWords => ({
      name,
      about: say(`command.${name}`, language),
      where: name === "pair" ? "private" : "everywhere",
    })),
    ...Object.entries(rules?.commands ?? {}).map(([name, about]): CommandWords => ({
      name,
      about,
      where: "everywhere",
    })),
  ];
}
