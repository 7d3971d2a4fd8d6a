import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Blobs, ModelChoice } from "../core/agent.ts";
import { asError, GatewayError } from "../core/errors.ts";
import { withFinish } from "./finish.ts";
import { withResponseLookedAt } from "./google-client.ts";
import { withOwnSignal } from "./own-signal.ts";

// One place asks again, the harness, which knows what is left of the turn.
const MAX_RETRIES = 0;

// For one request until its headers: reasoning models think for minutes before the first byte when nothing is streamed.
const TIMEOUT_MS = 300_000;

/** Versions that fit the @langchain/core in package.json. */
export const PACKAGES: Readonly<Record<string, string>> = {
  "@langchain/anthropic": "1.5.11",
  "@langchain/google-genai": "2.3.2",
  "@langchain/ollama": "1.3.0",
};

type Loader = (choice: ModelChoice, blobs: Blobs) => Promise<BaseChatModel>;

const PROVIDERS: Readonly<Record<string, Loader>> = {
  async openai(choice) {
    const { ChatOpenAI, ChatOpenAICompletions, ChatOpenAIResponses } = await import("@langchain/openai");
    const fields = {
      model: choice.name,
      // Local servers want no key, but the client wants one.
      apiKey: choice.apiKey ?? (choice.baseUrl === undefined ? needKey(choice) : "none"),
      maxRetries: MAX_RETRIES,
      timeout: TIMEOUT_MS,
      // Compatible servers speak chat completions alone.
      ...(choice.baseUrl === undefined
        ? {}
        : { configuration: { baseURL: choice.baseUrl }, useResponsesApi: false }),
    };
    return new ChatOpenAI({
      ...fields,
      completions: withFinish(withOwnSignal(new ChatOpenAICompletions(fields))),
      responses: withOwnSignal(new ChatOpenAIResponses(fields)),
    });
  },

  async anthropic(choice) {
    const { ChatAnthropic } = await loadPackage("@langchain/anthropic", () => import("@langchain/anthropic"));
    return new ChatAnthropic({
      model: choice.name,
      apiKey: choice.apiKey ?? needKey(choice),
      maxRetries: MAX_RETRIES,
      ...(choice.baseUrl === undefined ? {} : { anthropicApiUrl: choice.baseUrl }),
      // Without the null the client also sends a token that it finds in the environment.
      clientOptions: { timeout: TIMEOUT_MS, authToken: null },
    });
  },

  async "google-genai"(choice) {
    const { ChatGoogleGenerativeAI } = await loadPackage(
      "@langchain/google-genai",
      () => import("@langchain/google-genai"),
    );
    const model = new ChatGoogleGenerativeAI({
      model: choice.name,
      apiKey: choice.apiKey ?? needKey(choice),
      maxRetries: MAX_RETRIES,
      ...(choice.baseUrl === undefined ? {} : { baseUrl: choice.baseUrl }),
    });
    return withFinish(withResponseLookedAt(model));
  },

  async ollama(choice) {
    const { ChatOllama } = await loadPackage("@langchain/ollama", () => import("@langchain/ollama"));
    return new ChatOllama({
      model: choice.name,
      maxRetries: MAX_RETRIES,
      ...(choice.baseUrl === undefined ? {} : { baseUrl: choice.baseUrl }),
    });
  },

  async demo(_choice, blobs) {
    const { DemoModel } = await import("./demo.ts");
    return new DemoModel(blobs);
  },
};

/**
 * The chat model of an agent; its package is loaded only now. Keys come from the choice alone, never from the
 * environment. `blobs` is what the demo model reads documents from.
 * @throws GatewayError "model.unknown", "model.missing_package", or "model.failed" when a key is missing.
 */
export async function loadModel(choice: ModelChoice, blobs: Blobs): Promise<BaseChatModel> {
  const known = Object.keys(PROVIDERS);
  const loader = known.includes(choice.provider) ? PROVIDERS[choice.provider] : undefined;
  if (loader === undefined) {
    const near = known.find((name) => distance(name, choice.provider.toLowerCase()) <= 3);
    throw new GatewayError(
      "model.unknown",
      `no model provider is called "${choice.provider}"${near === undefined ? "" : `; did you mean "${near}"?`} ` +
        `Known are: ${known.join(", ")}`,
    );
  }
  return loader(choice, blobs);
}

function needKey({ provider }: ModelChoice): never {
  const variable = { anthropic: "ANTHROPIC_API_KEY", "google-genai": "GOOGLE_API_KEY" }[provider];
  throw new GatewayError(
    "model.failed",
    `${provider} has no API key; set ${variable ?? "OPENAI_API_KEY"}, or apiKey in the agent's model`,
  );
}

/**
 * A package that an operator installs when an agent needs it.
 * @throws GatewayError "model.missing_package" with how to install it.
 */
export async function loadPackage<Module>(name: string, importing: () => Promise<Module>): Promise<Module> {
  try {
    return await importing();
  } catch (error) {
    const { code, message } = asError(error) as NodeJS.ErrnoException; // where it has a code, it is Node's
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes(name)) throw error;
    const version = PACKAGES[name];
    throw new GatewayError(
      "model.missing_package",
      `the package ${name} is not installed; run: npm install ${name}${version === undefined ? "" : `@${version}`}`,
      { cause: error },
    );
  }
}

/** How many letters must be typed, deleted or changed to make one word of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
