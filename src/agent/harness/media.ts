import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import { sensesOf } from "../senses.ts";
import { askWithMedia, type Asking as MediaAsking } from "./ask.ts";
import { shapesOf } from "./shapes.ts";
import { type AroundModel, both, type Said, type StageParts } from "./stage.ts";

/** Puts in what the references stand for, as far as the model that is asked takes it; see `askWithMedia`. */
export function withMedia(
  definition: AgentDefinition,
  { blobs, senses, files }: Pick<StageParts, "blobs" | "senses" | "files">,
): AroundModel {
  const known = new Map<string, MediaAsking>();
  const asked = (choice: ModelChoice, profile: object): MediaAsking => {
    const key = `${choice.provider}:${choice.name}`;
    const before = known.get(key);
    if (before) return before;
    const takes = choice === definition.model ? senses : sensesOf({ ...definition, model: choice }, profile);
    const asking: MediaAsking = {
      blobs,
      limits: definition.limits,
      paths: files,
      shapes: shapesOf(choice.provider, takes),
      key,
      unseen: new Set(),
    };
    known.set(key, asking);
    return asking;
  };
  return async (asking, next) => {
    const { choice, model, messages } = asking;
    // It reads the references itself.
    if (choice.provider === "demo") return await next(asking);
    const { answer: said, marked } = await askWithMedia<Said>(
      messages,
      asked(choice, model.profile),
      (shown) => next({ ...asking, messages: shown }),
    );
    return { ...said, update: both({ messages: marked }, said.update) };
  };
}
