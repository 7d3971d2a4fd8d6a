import { say, type SentenceKey } from "../../src/core/sentences.ts";

/** The collection's kinds of notice in our sentences. */
const KINDS = {
  empty_file: ["media.empty"],
  too_large: ["media.too_large"],
  image_too_large: ["media.too_large"],
  image_dimensions: ["media.too_many_pixels"],
  unsupported_image: ["media.unsupported"],
  corrupt_image: ["media.broken"],
  unsupported_document: ["media.unsupported", "media.password", "media.archive"],
  corrupt_document: ["media.broken"],
  undecodable_text: ["media.undecodable"],
  download_failed: ["media.unavailable"],
  voice_empty: ["media.voice_empty"],
  voice_too_long: ["media.voice_too_long"],
  voice_unsupported: ["media.voice_unsupported"],
  voice_unavailable: ["media.voice_unavailable"],
  voice_failed: ["media.voice_failed"],
  video_unsupported: ["media.video_unsupported"],
} as const satisfies Record<string, readonly SentenceKey[]>;

/** And what our log calls a refused reference of an answer. */
const CODES = {
  media_not_found: "media.not_found",
  media_outside_root: "media.outside_root",
  media_not_regular: "media.not_regular",
} as const;

type Notice = {
  readonly key: SentenceKey;
  /** How it names the file. */
  readonly name: string;
  readonly sentence: string;
};

// The longest first: what one says may read like the beginning of another.
const PATTERNS = [...new Set<SentenceKey>([...Object.values(KINDS).flat(), "media.too_slow"])]
  .toSorted((one, other) => say(other).length - say(one).length)
  .map((key) => [key, patternOf(key)] as const);

/** Our sentences about unusable files in a text. */
export function noticesIn(text: string): readonly Notice[] {
  const found: Notice[] = [];
  let rest = text;
  for (const [key, pattern] of PATTERNS) {
    rest = rest.replaceAll(pattern, (sentence: string, name: string) => {
      found.push({ key, name, sentence });
      return "";
    });
  }
  return found;
}

/** The sentences that a case allows. */
export function keysOf(kinds: readonly string[]): readonly SentenceKey[] {
  return kinds.flatMap((kind) => {
    if (!(kind in KINDS)) throw new Error(`no sentence of ours is a notice of ${kind}`);
    return KINDS[kind as keyof typeof KINDS]; // just looked for
  });
}

/** The codes that a case allows. */
export function codesOf(kinds: readonly string[]): readonly string[] {
  return kinds.map((kind) => {
    if (!(kind in CODES)) throw new Error(`no code of ours stands for ${kind}`);
    return CODES[kind as keyof typeof CODES]; // just looked for
  });
}

function patternOf(key: SentenceKey): RegExp {
  const [before = "", after = ""] = say(key).split("{name}");
  const literal = (words: string): string =>
    words.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll(/\\\{\w+\\\}/g, "[^\\n]+?");
  return new RegExp(`${literal(before)}([^\\n]+?)${literal(after)}`, "g");
}
