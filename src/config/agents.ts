import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

import type { AgentDefinition, ModelChoice, Transcriber } from "../core/agent.ts";
import { check } from "./check.ts";
import { suggestion } from "./faults.ts";
import type { Fault } from "./faults.ts";
import { agentSchema, NAME, NAME_RULE } from "./schema.ts";
import type { Lookup } from "./variables.ts";
import { readYaml } from "./yaml-source.ts";
import type { YamlSource } from "./yaml-source.ts";

/** A model that was asked for and cannot be used until these variables are set: the demo model answers instead. */
export type ModelNote = { readonly agent: string; readonly wanted: string; readonly set: readonly string[] };

export type AgentsFound = {
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  /** Of all agents' files, also of those with faults. */
  readonly names: readonly string[];
  readonly notes: readonly ModelNote[];
  readonly faults: readonly Fault[];
  /** Absolute paths of what was read. */
  readonly files: readonly string[];
};

type AgentsFolder = {
  /** Absolute. */
  readonly folder: string;
  readonly lookup: Lookup;
  /** For agents that set no limit of their own. */
  readonly turnSeconds: number;
  /** A path as faults name it. */
  readonly shown: (path: string) => string;
};

/** Where a provider's key is looked for when the front matter names none; providers that are not here need none. */
const USUAL_KEYS: Readonly<Record<string, string>> = {
  openai: "OPENAI_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
  "google-genai": "GOOGLE_API_KEY",
};
const PROVIDERS = [...Object.keys(USUAL_KEYS), "ollama"];
const DEMO: ModelChoice = { provider: "demo", name: "demo" };

/** Reads every `<name>.md` of the folder: front matter between two lines of `---`, and the prompt below. */
export async function loadAgents(options: AgentsFolder): Promise<AgentsFound> {
  const { folder, shown } = options;
  const agents = new Map<string, AgentDefinition>();
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
  const texts = (entries ?? []).filter((entry) => entry.endsWith(".md") && !entry.startsWith(".")).toSorted();
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
    if (found.agent !== undefined) agents.set(name, found.agent);
    if (found.note !== undefined) notes.push(found.note);
  }
  return { agents, names, notes, faults, files };
}

/**
 * The text of one of the operator's files, or the fault that it cannot be read.
 * UTF-8 alone: another encoding would change names and prompts in silence.
 */
export async function readText(path: string, shown: string): Promise<string | Fault> {
  try {
    // A pipe would be waited for without end, and a device never ends.
    const there = await stat(path);
    if (!there.isFile()) {
      const problem = there.isDirectory() ? "this is a folder" : "this is no regular file";
      return { file: shown, path: "", problem, remedy: "Make it a file, or take it out" };
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (error) {
    if (error instanceof TypeError) {
      return { file: shown, path: "", problem: "the file is not UTF-8", remedy: "Save it as UTF-8" };
    }
    const missing = codeOf(error) === "ENOENT";
    return {
      file: shown,
      path: "",
      problem: missing ? "there is no such file" : `the file cannot be read (${codeOf(error)})`,
      remedy: missing ? "Check the path, or make the file" : "Make it a file that this user may read",
    };
  }
}

type AgentFound = {
  readonly agent?: AgentDefinition;
  readonly note?: ModelNote;
  readonly faults: readonly Fault[];
};

async function loadAgent(name: string, path: string, options: AgentsFolder): Promise<AgentFound> {
  const file = options.shown(path);
  const text = await readText(path, file);
  if (typeof text !== "string") return { faults: [text] };
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
    return {
      faults: [...faults, { file, path: "", line: 1, problem, remedy: "Put a line of --- after it" }],
    };
  }
  const source = readYaml(parts.front, { file, lookup: options.lookup, firstLine: 2 });
  faults.push(...source.faults);
  if (!source.readable) return { faults };
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
  if (!checked.ok) return { faults: [...faults, ...checked.faults] };

  const { model, baseUrl, apiKey, graph, assets, transcriber, files, choices, senses, limits } =
    checked.value;
  const choice = source.spoiledUnder(["model"]) ? DEMO : modelChoice(model, source);
  if ("problem" in choice) faults.push(choice);
  for (const [key, written, kind] of [
    ["graph", graph, "file"],
    ["assets", assets, "folder"],
  ] as const) {
    if (written === undefined || source.spoiledUnder([key])) continue;
    const there = await stat(resolve(dirname(path), written)).catch(() => undefined);
    if (kind === "file" ? there?.isFile() === true : there?.isDirectory() === true) continue;
    const where = options.shown(resolve(dirname(path), written));
    faults.push(
      source.fault([key], `there is no ${kind} ${where}`, "Write its path from the agent's own file"),
    );
  }
  if (parts.prompt === "" && graph === undefined) {
    const problem = "there is no prompt below the front matter";
    faults.push({ file, path: "", problem, remedy: "Write there who the agent is and what it does" });
  }
  if (faults.length > 0 || "problem" in choice) return { faults };

  const folder = dirname(path);
  const usual = USUAL_KEYS[choice.provider];
  const key = apiKey ?? (usual === undefined || baseUrl !== undefined ? undefined : options.lookup(usual));
  // A graph brings its own model.
  const lacking = graph === undefined && usual !== undefined && baseUrl === undefined && key === undefined;
  const agent: AgentDefinition = {
    name,
    prompt: parts.prompt,
    model: lacking
      ? DEMO
      : {
          ...choice,
          ...(baseUrl === undefined ? {} : { baseUrl }),
          ...(key === undefined ? {} : { apiKey: key }),
        },
    ...(graph === undefined ? {} : { graph: resolve(folder, graph) }),
    ...(assets === undefined ? {} : { assets: resolve(folder, assets) }),
    ...(transcriber === undefined ? {} : { transcriber: withUsualKey(transcriber, options.lookup) }),
    files,
    ...(choices ? { choices } : {}),
    ...(senses === undefined ? {} : { senses }),
    limits: { turnSeconds: options.turnSeconds, ...limits },
  };
  return { agent, faults, ...(lacking ? { note: { agent: name, wanted: model, set: [usual] } } : {}) };
}

/** OpenAI's own server wants the key that its models want; others are told theirs. */
function withUsualKey(transcriber: Transcriber, lookup: Lookup): Transcriber {
  if (transcriber.use !== "openai" || transcriber.apiKey !== undefined) return transcriber;
  const key =
    new URL(transcriber.baseUrl).hostname === "api.openai.com" ? lookup("OPENAI_API_KEY") : undefined;
  return key === undefined ? transcriber : { ...transcriber, apiKey: key };
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

function modelChoice(model: string, source: YamlSource): ModelChoice | Fault {
  if (model === "demo") return DEMO;
  // Names have colons of their own: "ollama:llama3:8b".
  const [, provider, name = ""] = /^([^:]+):(.+)$/.exec(model) ?? [];
  // The value may come from a variable, which the fault's own value does not show.
  if (provider === undefined) {
    const remedy = "Write provider:name, such as openai:gpt-5, or demo";
    return source.fault(["model"], `${JSON.stringify(model)} does not name a provider and a model`, remedy);
  }
  if (PROVIDERS.includes(provider)) return { provider, name };
  const problem = `there is no provider ${JSON.stringify(provider)}`;
  return source.fault(["model"], problem, suggestion(provider, [...PROVIDERS, "demo"]));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}
