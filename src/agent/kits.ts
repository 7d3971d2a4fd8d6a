import type { AgentDefinition } from "../core/agent.ts";
import type { BuildPorts } from "./built.ts";
import { choiceTool } from "./choices.ts";
import type { Kit } from "./kit.ts";
import { skillsOf } from "./skills/skills.ts";

/** What an agent of ours may use, in the order in which it is told of it. Each is loaded for agents that have it. */
export async function kitsFor(definition: AgentDefinition, ports: BuildPorts): Promise<readonly Kit[]> {
  const kits: Kit[] = [];
  // deepagents takes a fifth of a second and 17 MB.
  const skills = skillsOf(definition, ports.log);
  if (definition.files || skills.any)
    kits.push((await import("./files/file-tools.ts")).fileKit({ chat: definition.files, skills }));
  if (definition.choices) kits.push({ tools: [choiceTool()], prompt: "" });
  if (definition.todos) kits.push((await import("./tools/todos.ts")).todoKit());
  if (definition.shell) kits.push(await (await import("./shell/shell-kit.ts")).shellKit(definition, ports));
  const { subagents, background } = definition;
  if (subagents && subagents.agents.length > 0) {
    kits.push((await import("./subagents/task-tool.ts")).subagentKit(subagents, ports));
    if (background) kits.push((await import("./background/task-tools.ts")).backgroundKit(subagents.agents));
  }
  if (definition.schedules)
    kits.push((await import("./schedules/schedule-tools.ts")).scheduleKit(definition.schedules));
  return kits;
}
