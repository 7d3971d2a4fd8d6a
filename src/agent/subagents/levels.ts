import type { AgentDefinition } from "../../core/agent.ts";

/** A subagent may have subagents, and these none: nobody can call themselves in a circle. */
const LEVELS = 2;

const known = new WeakMap<AgentDefinition, AgentDefinition>();

/**
 * An agent as it works for another: nobody presses its buttons or waits for tasks of its own, and below it are the levels that
 * are left. Always the same for one definition, since by it is known what is built already.
 */
export function asSubagent(definition: AgentDefinition): AgentDefinition {
  const before = known.get(definition);
  if (before) return before;
  const made = lowered(definition, LEVELS - 1);
  known.set(definition, made);
  return made;
}

function lowered(definition: AgentDefinition, levels: number): AgentDefinition {
  const { background: _tasks, subagents, ...rest } = definition;
  const alone = { ...rest, choices: false };
  if (subagents === undefined || levels === 0) return alone;
  return {
    ...alone,
    subagents: { ...subagents, agents: subagents.agents.map((agent) => lowered(agent, levels - 1)) },
  };
}
