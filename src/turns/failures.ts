import type { AgentDefinition } from "../core/agent.ts";
import type { GatewayError, ModelReason } from "../core/errors.ts";
import { type Language, say, type SentenceKey } from "../core/sentences.ts";

const MODEL_SENTENCES: Readonly<Record<ModelReason, SentenceKey>> = {
  refused: "turn.model_refused",
  overflow: "turn.model_overflow",
  key: "turn.model_key",
  quota: "turn.model_quota",
  rate: "turn.model_rate",
  busy: "turn.model_busy",
  broken: "turn.model_broken",
  not_found: "turn.model_unknown",
  invalid: "turn.model_failed",
};

/** What the person is told of a failed turn: one sentence, without a word of the error. */
export function failureWords(
  {
    code,
    reason,
  }: { readonly code: GatewayError["code"] | "unexpected"; readonly reason?: ModelReason | undefined },
  agent: AgentDefinition | undefined,
  language: Language,
): string {
  switch (code) {
    case "turn.timed_out":
      return say("turn.timed_out", language, {
        minutes: Math.max(1, Math.round((agent?.limits.turnSeconds ?? 0) / 60)),
      });
    case "model.missing_package":
    case "model.unknown":
      return say("turn.model_unknown", language);
    case "model.failed":
      return say(reason === undefined ? "turn.model_failed" : MODEL_SENTENCES[reason], language);
    default:
      return say("turn.failed", language);
  }
}
