import type { ModelChoice, Transcriber } from "../core/agent.ts";
import type { WrittenModel } from "./agent-schema.ts";
import { suggestion } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Path } from "./path.ts";
import type { Lookup } from "./variables.ts";
import type { YamlSource } from "./yaml-source.ts";

/** A model that was asked for and cannot be used until these variables are set. */
export type ModelNote = {
  readonly agent: string;
  readonly wanted: string;
  readonly set: readonly string[];
  /** It is another model than the agent's own, and the agent does without it; else the demo model answers instead. */
  readonly spare?: true;
};

export function noteSentence({ agent, wanted, set, spare }: ModelNote): string {
  const meanwhile = spare ? "it is not asked" : "the demo model answers";
  return `agent ${agent}: ${wanted} needs ${set.join(", ")}; until then ${meanwhile}`;
}

/** Where a provider's key is looked for when the front matter names none; providers that are not here need none. */
const USUAL_KEYS: Readonly<Record<string, string>> = {
  openai: "OPENAI_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
  "google-genai": "GOOGLE_API_KEY",
};
const PROVIDERS = [...Object.keys(USUAL_KEYS), "ollama"];
export const DEMO: ModelChoice = { provider: "demo", name: "demo" };

/** What "provider:name" stands for, or the fault that it stands for nothing. */
export function modelChoice(model: string, source: YamlSource, at: Path): ModelChoice | Fault {
  if (model === "demo") return DEMO;
  // Names have colons of their own: "ollama:llama3:8b".
  const [, provider, name = ""] = /^([^:]+):(.+)$/.exec(model) ?? [];
  // The value may come from a variable, which the fault's own value does not show.
  if (provider === undefined) {
    const remedy = "Write provider:name, such as openai:gpt-5, or demo";
    return source.fault(at, `${JSON.stringify(model)} does not name a provider and a model`, remedy);
  }
  if (PROVIDERS.includes(provider)) return { provider, name };
  const problem = `there is no provider ${JSON.stringify(provider)}`;
  return source.fault(at, problem, suggestion(provider, [...PROVIDERS, "demo"]));
}

/** The choice with its address and key; `lacking` is the variable of a key that it cannot do without. */
export function withKey(
  choice: ModelChoice,
  { baseUrl, apiKey }: Pick<WrittenModel, "baseUrl" | "apiKey">,
  lookup: Lookup,
): { readonly choice: ModelChoice; readonly lacking?: string } {
  const usual = baseUrl === undefined ? USUAL_KEYS[choice.provider] : undefined;
  const key = apiKey ?? (usual === undefined ? undefined : lookup(usual));
  return {
    choice: {
      ...choice,
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(key === undefined ? {} : { apiKey: key }),
    },
    ...(usual !== undefined && key === undefined ? { lacking: usual } : {}),
  };
}

/** A spare model; one of the provider that the agent's own is of has its address and key, unless it has its own. */
export function spareModel(
  written: WrittenModel,
  own: WrittenModel,
  places: { readonly source: YamlSource; readonly at: Path; readonly lookup: Lookup },
): { readonly choice: ModelChoice; readonly lacking?: string } | { readonly fault: Fault } {
  const { source, at, lookup } = places;
  const choice = modelChoice(written.model, source, at);
  if ("problem" in choice) return { fault: choice };
  if (choice.provider === "demo") {
    return {
      fault: source.fault(at, "the demo model stands in for nobody", "Write another model, or remove it"),
    };
  }
  const same = own.model.startsWith(`${choice.provider}:`) && written.baseUrl === undefined;
  const { baseUrl, apiKey } = same ? { ...own, ...written } : written;
  return withKey(
    choice,
    { ...(baseUrl === undefined ? {} : { baseUrl }), ...(apiKey === undefined ? {} : { apiKey }) },
    lookup,
  );
}

/** OpenAI's own server wants the key that its models want; others are told theirs. */
export function withUsualKey(transcriber: Transcriber, lookup: Lookup): Transcriber {
  if (transcriber.use !== "openai" || transcriber.apiKey !== undefined) return transcriber;
  const key =
    new URL(transcriber.baseUrl).hostname === "api.openai.com" ? lookup("OPENAI_API_KEY") : undefined;
  return key === undefined ? transcriber : { ...transcriber, apiKey: key };
}
