import type { Senses } from "../../core/agent.ts";
import type { MediaBlock } from "../../core/blocks.ts";

/** In which shapes the media of a request are put, so that langchain's converter sends what the provider reads. */
export type Shapes = {
  /** The types of pictures that are sent. */
  readonly images: ReadonlySet<string>;
  readonly pdf: boolean;
  /** The types of sound that are sent, under the names that they are sent by. */
  readonly audio: ReadonlyMap<string, string>;
  /** Images go as `image_url` blocks, the one form that Ollama's converter reads. */
  readonly imageUrls: boolean;
};

export function shapesOf(provider: string, senses: Senses): Shapes {
  const google = provider === "google-genai";
  return {
    images: senses.images ? (google ? GOOGLE_IMAGES : IMAGES) : NONE,
    pdf: senses.pdf,
    audio: senses.audio ? (google ? GOOGLE_SOUND : OPENAI_SOUND) : SILENCE,
    imageUrls: provider === "ollama",
  };
}

const NONE: ReadonlySet<string> = new Set();
const SILENCE: ReadonlyMap<string, string> = new Map();

/** What OpenAI and Anthropic take. */
export const IMAGES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);
// Gemini API, "Image understanding": no GIF.
const GOOGLE_IMAGES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/webp"]);

// OpenAI takes wav and mp3; langchain's converter knows them under these two names alone.
const OPENAI_SOUND: ReadonlyMap<string, string> = new Map([
  ["audio/wav", "audio/wav"],
  ["audio/x-wav", "audio/wav"],
  ["audio/wave", "audio/wav"],
  ["audio/vnd.wave", "audio/wav"],
  ["audio/mpeg", "audio/mp3"],
  ["audio/mp3", "audio/mp3"],
]);

// Gemini API, "Audio understanding": WAV, MP3, AIFF, AAC, OGG Vorbis, FLAC; a voice note's OGG is taken too.
const GOOGLE_SOUND: ReadonlyMap<string, string> = new Map([
  ...OPENAI_SOUND,
  ["audio/aiff", "audio/aiff"],
  ["audio/x-aiff", "audio/aiff"],
  ["audio/aac", "audio/aac"],
  ["audio/ogg", "audio/ogg"],
  ["audio/flac", "audio/flac"],
  ["audio/x-flac", "audio/flac"],
]);

/** Longer ones are read better as text; providers take 20 to 50 MB in a whole request. */
const PDF_BYTES = 10_000_000;

export type Shape = { readonly type: "image" | "audio" | "file"; readonly mimeType: string };

/** How a medium's own bytes are sent; undefined where this model is not sent them, or something stands better for them. */
export function shapeOf({ mimeType, bytes, extract, part }: MediaBlock, shapes: Shapes): Shape | undefined {
  if (shapes.images.has(mimeType)) return { type: "image", mimeType };
  if (mimeType === "application/pdf") {
    // Of a text that had to be shortened the agent reads on with its tools, and not in a file of hundreds of pages.
    const fits = bytes <= PDF_BYTES && extract?.whole === undefined && part === undefined;
    return shapes.pdf && fits ? { type: "file", mimeType } : undefined;
  }
  const sound = extract === undefined ? shapes.audio.get(mimeType) : undefined;
  return sound === undefined ? undefined : { type: "audio", mimeType: sound };
}
