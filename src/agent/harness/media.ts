import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import { modelKey } from "../model-key.ts";
import { sensesOf } from "../senses.ts";
import { askWithMedia, type Asking as MediaAsking } from "./ask.ts";
import { shapesOf } from "./shapes.ts";
import { type AroundModel, both, type Said, type StageParts } from "./stage.ts";
import { windowOf } from "../window/models.ts";

/** Of all documents in one request: one of 100 KB whole, which is about 25,000 tokens. */
const DOCUMENT_CHARACTERS = 102_400;
/** Four characters are about a token, and something must be left for what was said. */
const CHARACTERS_OF_WINDOW = 0.8 * 4;

/** Puts in what the references stand for, as far as the model that is asked takes it; see `askWithMedia`. */
export function withMedia(
  definition: AgentDefinition,
  { blobs, senses, files }: Pick<StageParts, "blobs" | "senses" | "files">,
): AroundModel {
  const known = new Map<string, MediaAsking>();
  const asked = (choice: ModelChoice, profile: object): MediaAsking => {
    const key = modelKey(choice);
    const before = known.get(key);
    if (before) return before;
    // What the operator says of the senses is said of the agent's own model.
    const takes = choice === definition.model ? senses : sensesOf({ model: choice }, profile);
    const asking: MediaAsking = {
      blobs,
      limits: { ...definition.limits, characters: documentCharacters(definition, choice, profile) },
      paths: files,
      shapes: shapesOf(choice.provider, takes),
      key,
      unseen: new Set(),
      most: {},
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

/** In a small window less of a document is shown: its head and its tail. */
function documentCharacters(
  { limits, model }: Pick<AgentDefinition, "limits" | "model">,
  choice: ModelChoice,
  profile: object,
): number {
  const window = windowOf(choice === model ? limits : {}, choice, profile);
  return Math.min(limits.characters, DOCUMENT_CHARACTERS, Math.floor(window * CHARACTERS_OF_WINDOW));
}
