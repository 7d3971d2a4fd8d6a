import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";

import type { AgentDefinition } from "../core/agent.ts";
import { loadAgent } from "./agent-file.ts";
import type { AgentsFolder } from "./agent-file.ts";
import type { Fault } from "./faults.ts";
import type { ModelNote } from "./model-choice.ts";
import { codeOf } from "./read-text.ts";
import { withSubagents } from "./team.ts";
import type { Alone } from "./team.ts";

export type AgentsFound = {
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  /** Of all agents' files, also of those with faults. */
  readonly names: readonly string[];
  readonly notes: readonly ModelNote[];
  readonly faults: readonly Fault[];
  /** Absolute paths of what was read. */
  readonly files: readonly string[];
};

/** Reads every `<name>.md` of the folder. */
export async function loadAgents(options: AgentsFolder): Promise<AgentsFound> {
  const { folder, shown } = options;
  const alone = new Map<string, Alone>();
  const names: string[] = [];
  const notes: ModelNote[] = [];
  const faults: Fault[] = [];
  const files = [folder];

  const entries = await readdir(folder).catch((cause: unknown) => {
    const missing = codeOf(cause) === "ENOENT";
    faults.push({
      file: shown(folder),
      path: "",
      problem: missing ? "there is no such folder of agents" : `the folder cannot be read (${codeOf(cause)})`,
      remedy: missing ? "Make it and put an agent into it: helper.md" : "Make it a readable folder",
    });
    return undefined;
  });
  const texts = (entries ?? []).filter(isAgentFile).toSorted();
  if (entries !== undefined && texts.length === 0) {
    faults.push({
      file: shown(folder),
      path: "",
      problem: "the folder holds no agents",
      remedy: "Put one into it: helper.md",
    });
  }

  for (const entry of texts) {
    const path = join(folder, entry);
    files.push(path);
    const name = basename(entry, ".md");
    names.push(name);
    const found = await loadAgent(name, path, options);
    faults.push(...found.faults);
    if (found.alone !== undefined) alone.set(name, found.alone);
    notes.push(...found.notes);
  }
  const team = withSubagents(alone, names);
  return { agents: team.agents, names, notes, faults: [...faults, ...team.faults], files };
}

/** AGENTS.md, which no agent could be called, is what agents are to know. */
function isAgentFile(entry: string): boolean {
  return entry.endsWith(".md") && !entry.startsWith(".") && entry !== "AGENTS.md";
}
