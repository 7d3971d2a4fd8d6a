import type { AgentDefinition, ModelChoice, Senses } from "../core/agent.ts";

/** What langchain's static table says of a model; an empty one says nothing. */
export type Profile = {
  readonly imageInputs?: boolean;
  readonly pdfInputs?: boolean;
  readonly audioInputs?: boolean;
};

/**
 * What a model takes as it is: our table by provider and name, under it what langchain knows (which lacks most models,
 * so that only its explicit "no" counts), over it what the operator says; and never what the provider's converter in
 * langchain drops in silence or throws at.
 */
export function sensesOf(
  { model, senses }: Pick<AgentDefinition, "model" | "senses">,
  profile: Profile,
): Senses {
  const { images, pdf, audio } = known(model);
  const sends =
    model.provider === "openai" && RESPONSES.test(model.name) ? SIGHT_AND_PDF : SENDS[model.provider];
  if (sends === undefined) return NOTHING;
  return {
    images: sends.images && (senses?.images ?? (images && profile.imageInputs !== false)),
    pdf: sends.pdf && (senses?.pdf ?? (pdf && profile.pdfInputs !== false)),
    audio: sends.audio && (senses?.audio ?? (audio && profile.audioInputs !== false)),
  };
}

/** A graph of the operator's brings a model that we know nothing of. */
export function sensesOfGraph({ senses }: Pick<AgentDefinition, "senses">): Senses {
  return { ...EVERYTHING, ...senses };
}

const EVERYTHING: Senses = { images: true, pdf: true, audio: true };
const NOTHING: Senses = { images: false, pdf: false, audio: false };

/** What langchain's converters put on the wire, as recorded by the tests' servers. */
const SENDS: Readonly<Record<string, Senses>> = {
  openai: EVERYTHING,
  anthropic: { images: true, pdf: true, audio: false },
  "google-genai": EVERYTHING,
  ollama: { images: true, pdf: false, audio: false },
  // It tells of everything that it got.
  demo: EVERYTHING,
};

/** The models for which langchain speaks OpenAI's Responses, where its converter drops sound. */
const RESPONSES = /codex|gpt-5\.[245]-pro/;

/** The first row whose pattern the name matches. Models that no row knows are tried with what most of their kind take. */
type Row = readonly [RegExp, Senses];

const SIGHT: Senses = { images: true, pdf: false, audio: false };
const SIGHT_AND_PDF: Senses = { images: true, pdf: true, audio: false };
const HEARING: Senses = { images: false, pdf: false, audio: true };

const OPENAI: readonly Row[] = [
  [/audio/, HEARING],
  [/^(gpt-3|gpt-4(-\d{4}.*|-32k.*)?$|o1-(mini|preview)|o3-mini|davinci|babbage|gpt-oss)/, NOTHING],
  [/./, SIGHT_AND_PDF],
];

const ANTHROPIC: readonly Row[] = [
  [/^claude-(instant|2)/, NOTHING],
  [/^claude-3-(opus|sonnet|haiku)/, SIGHT],
  [/./, SIGHT_AND_PDF],
];

const GOOGLE: readonly Row[] = [
  [/gemma-3n|gemini-1\.0|gemini-pro$/, NOTHING],
  [/gemma/, SIGHT],
  [/./, EVERYTHING],
];

/** Models that people run themselves, by the names that Ollama and other servers give them. */
const OPEN_WEIGHTS: readonly Row[] = [
  // Their smallest read text alone.
  [/gemma-?3[:-](1b|270m)|gemma-?3n/, NOTHING],
  [
    /vision|multimodal|omni|llava|moondream|minicpm-?v|pixtral|vlm|[-\d]vl\d?\b|gemma-?[34]|llama-?4|-ocr|mistral-small-?3\.[12]/,
    SIGHT,
  ],
  [
    /^(.*\/)?(gpt-oss|deepseek|qwq|qwen-?(2\.5|[23])?(-coder)?|llama-?[23](\.\d)?|codellama|mistral(?!-(small|medium))|mixtral|codestral|phi-?[34]|gemma-?2?|command-r|smollm2?|tinyllama|granite)(:|-|$)/,
    NOTHING,
  ],
  // Unknown: tried, until it refuses.
  [/./, SIGHT],
];

function known({ provider, name, baseUrl }: ModelChoice): Senses {
  const rows = tableOf(provider, baseUrl);
  return rows.find(([pattern]) => pattern.test(name.toLowerCase()))?.[1] ?? NOTHING;
}

function tableOf(provider: string, baseUrl: string | undefined): readonly Row[] {
  switch (provider) {
    case "openai":
      // Many servers speak OpenAI's protocol, few of them for OpenAI's models.
      return baseUrl === undefined ? OPENAI : OPEN_WEIGHTS;
    case "anthropic":
      return ANTHROPIC;
    case "google-genai":
      return GOOGLE;
    case "ollama":
      return OPEN_WEIGHTS;
    case "demo":
      return [[/./, EVERYTHING]];
    default:
      return [];
  }
}
