import type { AIMessage } from "@langchain/core/messages";

/** Why a model stopped before it was done. */
export type Stop = "refused" | "cut";

// OpenAI and Azure: content_filter. Anthropic: refusal. Gemini: the names in capitals. Bedrock: guardrail_intervened, content_filtered.
const REFUSED = new Set([
  "content_filter",
  "content_filtered",
  "guardrail_intervened",
  "refusal",
  "safety",
  "blocklist",
  "prohibited_content",
  "spii",
  "recitation",
  "image_safety",
  "image_prohibited_content",
  "image_recitation",
]);

// OpenAI and Ollama: length. Anthropic and Gemini: max_tokens. Responses: max_output_tokens. Mistral: model_length.
const CUT = new Set([
  "length",
  "max_tokens",
  "max_output_tokens",
  "model_length",
  "model_context_window_exceeded",
]);

/** By what the provider says of how the answer ended; undefined where that is as it should be, or nothing is said. */
export function stopOf({
  response_metadata: metadata,
  additional_kwargs: kwargs,
}: AIMessage): Stop | undefined {
  const incomplete = metadata["incomplete_details"] as { reason?: unknown } | null | undefined; // as Responses has it
  return stopNamed([
    metadata["finish_reason"],
    metadata["stop_reason"],
    metadata["finishReason"],
    metadata["done_reason"],
    incomplete?.reason,
    // Anthropic's and Gemini's clients put it there too, and alone where the answer was streamed.
    kwargs["stop_reason"],
    kwargs["finishReason"],
    refusalIn(kwargs) === "" ? undefined : "refusal",
  ]);
}

/** What a model of OpenAI's says where it refuses, which is no part of its text; else "". */
export function refusalIn(kwargs: AIMessage["additional_kwargs"]): string {
  const refusal = kwargs["refusal"];
  return typeof refusal === "string" ? refusal.trim() : "";
}

/** Gemini's client throws where an answer has no content at all, and so does LangChain where a stream had nothing in it. */
export function stopThrown(thrown: unknown): Stop | "blank" | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth += 1) {
    const { finishReason, blockReason } = error as { finishReason?: unknown; blockReason?: unknown }; // EmptyContentError's
    if (error.name === "EmptyContentError") return stopNamed([finishReason, blockReason]) ?? "blank";
    if (error.message.startsWith("Received empty response from chat model")) return "blank";
  }
  return undefined;
}

function stopNamed(reasons: readonly unknown[]): Stop | undefined {
  const names = reasons.map((reason) => String(reason).toLowerCase());
  if (names.some((name) => REFUSED.has(name))) return "refused";
  return names.some((name) => CUT.has(name)) ? "cut" : undefined;
}
