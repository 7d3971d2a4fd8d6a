import type { MediaBlock } from "../../core/blocks.ts";

/** What a model is shown as bytes. All else becomes words. */
export type Sight = {
  readonly image: boolean;
  readonly pdf: boolean;
  readonly audio: boolean;
  /** Images go as `image_url` blocks, the one form that Ollama's converter reads. */
  readonly imageUrls: boolean;
};

/** Shows nothing. */
export const BLIND: Sight = { image: false, pdf: false, audio: false, imageUrls: false };

/** What langchain's static table says of a model; an empty one says nothing. */
export type Profile = {
  readonly imageInputs?: boolean;
  readonly pdfInputs?: boolean;
  readonly audioInputs?: boolean;
};

/**
 * What this model may be shown. The table of profiles lacks most models, so only an explicit `false` is a "no";
 * the provider's converter in langchain sets the rest.
 */
export function sightOf(provider: string, profile: Profile): Sight {
  return {
    image: provider !== "demo" && profile.imageInputs !== false,
    pdf: ["openai", "anthropic", "google-genai"].includes(provider) && profile.pdfInputs !== false,
    // Other converters drop audio in silence or throw.
    audio: provider === "openai" && profile.audioInputs !== false,
    imageUrls: provider === "ollama",
  };
}

// The four that OpenAI, Anthropic and Google all take.
const IMAGES = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

// OpenAI takes wav and mp3; langchain's converter knows them under these two names alone.
const AUDIO = new Map([
  ["audio/wav", "audio/wav"],
  ["audio/x-wav", "audio/wav"],
  ["audio/wave", "audio/wav"],
  ["audio/vnd.wave", "audio/wav"],
  ["audio/mpeg", "audio/mp3"],
  ["audio/mp3", "audio/mp3"],
]);

/** How a medium is shown, and under which MIME type; undefined where this model is not shown its bytes. */
export function shownAs(
  block: MediaBlock,
  sight: Sight,
): { readonly type: "image" | "audio" | "file"; readonly mimeType: string } | undefined {
  if (sight.image && IMAGES.has(block.mimeType)) return { type: "image", mimeType: block.mimeType };
  if (sight.pdf && block.mimeType === "application/pdf") return { type: "file", mimeType: block.mimeType };
  const audio = AUDIO.get(block.mimeType);
  if (sight.audio && audio !== undefined) return { type: "audio", mimeType: audio };
  return undefined;
}
