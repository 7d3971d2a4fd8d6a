import { SystemMessage } from "@langchain/core/messages";
import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import { notesOf } from "../notes/notes.ts";
import { skillsOf, skillWords } from "../skills/skills.ts";
import type { TurnConfig } from "../turn-config.ts";
import type { AroundModel, StageParts } from "./stage.ts";

/**
 * Tells the model what its files say: the operator's texts, the skills that there are, its own notes on this chat. They are
 * read again with each turn and are the same through all of it, and what changes least stands first: caches of providers
 * hold as long as nobody changes a file. Skills need tools; a model without any is not told of them.
 */
export function withKnown(
  definition: AgentDefinition,
  { log, files }: Pick<StageParts, "log" | "files">,
): AroundModel {
  const notes = notesOf(definition, log);
  const skills = skillsOf(definition, log);
  const turns = new WeakMap<TurnConfig, Promise<Known>>();
  const known = async (turn: TurnConfig | undefined): Promise<Known> => ({
    operators: await notes.operators(),
    skills: skills.any ? skillWords(await skills.found()) : "",
    own: turn === undefined || !files ? "" : await notes.own(turn.folder),
  });
  return async (asking, next) => {
    const { turn, tools, system, choice } = asking;
    const reading = (turn && turns.get(turn)) ?? known(turn);
    if (turn) turns.set(turn, reading);
    const told = await reading;
    const lasting = joined([system.text, told.operators, tools.length === 0 ? "" : told.skills]);
    if (lasting === system.text && told.own === "") return await next(asking);
    return await next({ ...asking, system: systemOf(lasting, told.own, choice) });
  };
}

type Known = { readonly operators: string; readonly skills: string; readonly own: string };

/** What a provider has of the rest of a prompt it keeps, though the agent writes new notes on its chat. */
function systemOf(lasting: string, own: string, { provider }: ModelChoice): SystemMessage {
  if (provider !== "anthropic" || own === "" || lasting === "")
    return new SystemMessage(joined([lasting, own]));
  return new SystemMessage({
    content: [
      { type: "text", text: lasting, cache_control: { type: "ephemeral" } },
      { type: "text", text: own },
    ],
  });
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part.trim() !== "").join("\n\n");
}
