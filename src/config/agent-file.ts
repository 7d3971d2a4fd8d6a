import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import type { AgentDefinition, McpServer, ModelChoice } from "../core/agent.ts";
import { agentSchema } from "./agent-schema.ts";
import type { AgentSettings, WrittenModel } from "./agent-schema.ts";
import { check } from "./check.ts";
import { suggestion } from "./faults.ts";
import type { Fault } from "./faults.ts";
import { DEMO, modelChoice, spareModel, withKey, withUsualKey } from "./model-choice.ts";
import type { ModelNote } from "./model-choice.ts";
import type { Path } from "./path.ts";
import { readText } from "./read-text.ts";
import { NAME, NAME_RULE } from "./schema.ts";
import type { Alone } from "./team.ts";
import type { Lookup } from "./variables.ts";
import { readYaml } from "./yaml-source.ts";
import type { YamlSource } from "./yaml-source.ts";

export type AgentsFolder = {
  /** Absolute. */
  readonly folder: string;
  readonly lookup: Lookup;
  /** For agents that set no limit of their own. */
  readonly turnSeconds: number;
  /** Servers of tools, by their names in perch.yaml; those that have faults there are undefined. */
  readonly mcp: ReadonlyMap<string, McpServer | undefined>;
  /** A path as faults name it. */
  readonly shown: (path: string) => string;
};

type AgentFound = {
  readonly alone?: Alone;
  readonly notes: readonly ModelNote[];
  readonly faults: readonly Fault[];
};

/** Reads `<name>.md`: front matter between two lines of `---`, and the prompt below. */
export async function loadAgent(name: string, path: string, options: AgentsFolder): Promise<AgentFound> {
  const file = options.shown(path);
  const text = await readText(path, file);
  if (typeof text !== "string") return { notes: [], faults: [text] };
  const faults: Fault[] = [];
  if (!NAME.test(name)) {
    faults.push({
      file,
      path: "",
      problem: `the file's name is its agent's, and ${NAME_RULE}`,
      remedy: "Rename the file, or keep it in another folder",
    });
  }
  const parts = splitFrontMatter(text);
  if (parts === undefined) {
    const problem = "the front matter that begins here has no end";
    const open = { file, path: "", line: 1, problem, remedy: "Put a line of --- after it" };
    return { notes: [], faults: [...faults, open] };
  }
  const source = readYaml(parts.front, { file, lookup: options.lookup, firstLine: 2 });
  faults.push(...source.faults);
  if (!source.readable) return { notes: [], faults };
  for (const { name: variable, path: at } of source.unsetUnder([])) {
    faults.push(
      source.fault(
        at,
        `${variable} is not set`,
        `Set ${variable} in .env, or write \${${variable}:-default}`,
      ),
    );
  }
  const checked = check(agentSchema, source.value ?? {}, source);
  if (!checked.ok) return { notes: [], faults: [...faults, ...checked.faults] };
  const settings = checked.value;

  const folder = dirname(path);
  const models = modelsOf(name, settings, source, options.lookup);
  faults.push(
    ...models.faults,
    ...(await pathFaults(settings, source, folder, options.shown)),
    ...mcpFaults(settings, source, options.mcp),
    ...approveFaults(settings, source),
    ...uselessFaults(settings, source),
  );
  if (parts.prompt === "" && settings.graph === undefined) {
    const problem = "there is no prompt below the front matter";
    faults.push({ file, path: "", problem, remedy: "Write there who the agent is and what it does" });
  }
  if (faults.length > 0) return { notes: [], faults };

  const agent = definition(name, parts.prompt, settings, models, { ...options, folder });
  const { subagents } = settings;
  return {
    alone: { agent, source, ...(subagents === undefined ? {} : { wanted: subagents }) },
    notes: models.notes,
    faults,
  };
}

/** `undefined` where front matter begins and does not end. */
function splitFrontMatter(text: string): { readonly front: string; readonly prompt: string } | undefined {
  const [first, ...lines] = text.split(/\r?\n/);
  if (first?.trimEnd() !== "---") return { front: "", prompt: text.trim() };
  const end = lines.findIndex((line) => line.trimEnd() === "---");
  if (end === -1) return undefined;
  return {
    front: lines.slice(0, end).join("\n"),
    prompt: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

type Models = {
  readonly model: ModelChoice;
  readonly fallbacks: readonly ModelChoice[];
  readonly grader?: ModelChoice;
  readonly notes: readonly ModelNote[];
  readonly faults: readonly Fault[];
};

/** The agent's own model, or the demo while it lacks its key, and those that stand beside it. */
function modelsOf(agent: string, settings: AgentSettings, source: YamlSource, lookup: Lookup): Models {
  const { model, graph, fallbacks, rubric } = settings;
  const notes: ModelNote[] = [];
  const faults: Fault[] = [];
  const found = source.spoiledUnder(["model"]) ? DEMO : modelChoice(model, source, ["model"]);
  if ("problem" in found) faults.push(found);
  const own = "problem" in found ? { choice: DEMO } : withKey(found, settings, lookup);
  // A graph brings its own model.
  const lacking = graph === undefined ? own.lacking : undefined;
  if (lacking !== undefined) notes.push({ agent, wanted: model, set: [lacking] });

  const spare = (written: WrittenModel, at: Path): readonly ModelChoice[] => {
    if (source.spoiledUnder(at)) return [];
    const one = spareModel(written, settings, { source, at, lookup });
    if ("fault" in one) faults.push(one.fault);
    else if (one.lacking === undefined) return [one.choice];
    else notes.push({ agent, wanted: written.model, set: [one.lacking], spare: true });
    return [];
  };
  const spares = fallbacks.flatMap((written, i) => spare(written, ["fallbacks", i]));
  const [grader] = rubric?.model === undefined ? [] : spare(rubric.model, ["rubric", "model"]);
  return {
    model: lacking === undefined ? own.choice : DEMO,
    // Nobody stands in for the demo, which does not fail.
    fallbacks: lacking === undefined && own.choice.provider !== "demo" ? spares : [],
    ...(grader === undefined ? {} : { grader }),
    notes,
    faults,
  };
}

/** What is named by a path must be there. */
async function pathFaults(
  { graph, guard, assets, skills, memory }: AgentSettings,
  source: YamlSource,
  folder: string,
  shown: (path: string) => string,
): Promise<readonly Fault[]> {
  const named: readonly (readonly [Path, string | undefined, "file" | "folder"])[] = [
    [["graph"], graph, "file"],
    [["guard"], guard, "file"],
    [["assets"], assets, "folder"],
    ...skills.map((path, i) => [["skills", i], path, "folder"] as const),
    ...(memory?.files ?? []).map((path, i) => [["memory", "files", i], path, "file"] as const),
  ];
  const faults: Fault[] = [];
  for (const [at, written, kind] of named) {
    if (written === undefined || source.spoiledUnder(at)) continue;
    const there = await stat(resolve(folder, written)).catch(() => undefined);
    if (kind === "file" ? there?.isFile() === true : there?.isDirectory() === true) continue;
    const problem = `there is no ${kind} ${shown(resolve(folder, written))}`;
    faults.push(source.fault(at, problem, "Write its path from the agent's own file"));
  }
  return faults;
}

function mcpFaults(
  { mcp }: AgentSettings,
  source: YamlSource,
  servers: AgentsFolder["mcp"],
): readonly Fault[] {
  return mcp.flatMap((name, i) => {
    const at = ["mcp", i];
    if (source.spoiledUnder(at)) return [];
    if (mcp.indexOf(name) < i) {
      return [source.fault(at, "this server stands here a second time", "Keep one of the two")];
    }
    if (servers.has(name)) return [];
    const remedy =
      servers.size === 0 ? "Write it into perch.yaml, under mcp:" : suggestion(name, [...servers.keys()]);
    return [source.fault(at, "there is no such server of tools in perch.yaml", remedy)];
  });
}

/** A server that the agent has not would never be asked about, and nobody would see that. */
function approveFaults({ approve, mcp }: AgentSettings, source: YamlSource): readonly Fault[] {
  return approve.tools.flatMap((tool, i) => {
    const at = ["approve", "tools", i];
    const server = /^(.*)\/\*$/.exec(tool)?.[1];
    if (server === undefined || mcp.includes(server) || source.spoiledUnder(at)) return [];
    const remedy =
      mcp.length === 0
        ? "Write the server under mcp:"
        : suggestion(
            `${server}/*`,
            mcp.map((each) => `${each}/*`),
          );
    return [source.fault(at, "the agent has no such server of tools", remedy)];
  });
}

/** What only our own harness does: a graph has its own models, tools and loop. */
const NOT_OF_GRAPHS = [
  "fallbacks",
  "price",
  "skills",
  "memory",
  "subagents",
  "background",
  "schedules",
  "mcp",
  "shell",
  "guard",
  "approve",
  "todos",
  "rubric",
] as const;

/** What is asked for and cannot have an effect. */
function uselessFaults(settings: AgentSettings, source: YamlSource): readonly Fault[] {
  const { graph, background, subagents } = settings;
  const faults: Fault[] = [];
  for (const key of graph === undefined ? [] : NOT_OF_GRAPHS) {
    if (!source.has([key]) || settings[key] === false) continue;
    const remedy = "Remove it, or remove graph and let the model answer";
    faults.push(source.fault([key], "has no effect beside a graph of your own", remedy));
  }
  for (const key of graph === undefined ? [] : (["tokensPerDay", "costPerMonth"] as const)) {
    if (!source.has(["budget", key])) continue;
    const problem = "has no effect beside a graph of your own, whose models are not seen here";
    faults.push(source.fault(["budget", key], problem, "Remove it, or write turnsPerHour"));
  }
  if (background !== undefined && subagents === undefined && graph === undefined) {
    const problem = "there is nobody to work in the background";
    faults.push(source.fault(["background"], problem, "Write subagents: with the agents that are to"));
  }
  return faults;
}

function definition(
  name: string,
  prompt: string,
  settings: AgentSettings,
  { model, fallbacks, grader }: Models,
  { folder, lookup, turnSeconds, mcp }: AgentsFolder,
): AgentDefinition {
  const { price, budget, graph, assets, transcriber, senses, skills, memory, about, guard, approve, rubric } =
    settings;
  const at = (path: string): string => resolve(folder, path);
  const { background, schedules, choices, shell, todos, files, limits } = settings;
  const servers = settings.mcp.flatMap((it) => mcp.get(it) ?? []);
  return {
    name,
    prompt,
    model,
    ...(fallbacks.length === 0 ? {} : { fallbacks }),
    ...(price === undefined ? {} : { price }),
    ...(budget === undefined ? {} : { budget }),
    ...(graph === undefined ? {} : { graph: at(graph) }),
    ...(assets === undefined ? {} : { assets: at(assets) }),
    ...(transcriber === undefined ? {} : { transcriber: withUsualKey(transcriber, lookup) }),
    files,
    ...(choices ? { choices } : {}),
    ...(senses === undefined ? {} : { senses }),
    ...(skills.length === 0 ? {} : { skills: skills.map(at) }),
    ...(memory === undefined
      ? {}
      : {
          memory: {
            ...memory,
            files: memory.files.map(at),
            // The demo model distils nothing.
            facts: memory.facts && model.provider !== "demo",
          },
        }),
    ...(about === undefined ? {} : { about }),
    ...(background === undefined ? {} : { background }),
    ...(schedules === undefined ? {} : { schedules }),
    ...(servers.length === 0 ? {} : { mcp: servers }),
    ...(shell ? { shell } : {}),
    ...(guard === undefined ? {} : { guard: at(guard) }),
    ...(approve.tools.length === 0 && guard === undefined ? {} : { approve }),
    ...(todos ? { todos } : {}),
    ...(rubric === undefined
      ? {}
      : {
          rubric: {
            criteria: rubric.criteria,
            rounds: rubric.rounds,
            ...(grader === undefined ? {} : { model: grader }),
          },
        }),
    limits: { turnSeconds, ...limits },
  };
}
