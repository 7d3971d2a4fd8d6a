import { z } from "zod";
import type { ChatRules, GatherRules } from "../core/rules.ts";

/** A window; what people wait for an answer stays bounded by `longestSeconds`. */
const seconds = z.number().min(0).max(60);
const longest = z.number().min(0).max(300);
const messages = z.int().min(1).max(100);
const characters = z.int().min(1_000).max(1_000_000);

/** How what one person says in several messages becomes one intent, and how much that may be. */
export const gatherSchema = z.strictObject({
  textSeconds: seconds.default(0.3),
  fragmentSeconds: seconds
    .default(1.5)
    .describe("After a text of 4,000 characters, which a client may have split."),
  mediaSeconds: seconds.default(1.5),
  albumSeconds: seconds.default(1),
  forwardSeconds: seconds.default(0.3),
  longestSeconds: longest.default(10).describe("However it goes on, the turn begins after this."),
  messages: messages.default(12),
  characters: characters.default(50_000),
});

/** The same of one chat: what is not said there is as in its channel. */
export const chatGatherSchema = z.strictObject({
  textSeconds: seconds.exactOptional(),
  fragmentSeconds: seconds.exactOptional(),
  mediaSeconds: seconds.exactOptional(),
  albumSeconds: seconds.exactOptional(),
  forwardSeconds: seconds.exactOptional(),
  longestSeconds: longest.exactOptional(),
  messages: messages.exactOptional(),
  characters: characters.exactOptional(),
});

type Settings = z.output<typeof gatherSchema>;

export function gatherRules(settings: Settings): GatherRules {
  const { messages: most, characters: length } = settings;
  return {
    textMs: ms(settings.textSeconds),
    fragmentMs: ms(settings.fragmentSeconds),
    mediaMs: ms(settings.mediaSeconds),
    albumMs: ms(settings.albumSeconds),
    forwardMs: ms(settings.forwardSeconds),
    longestMs: ms(settings.longestSeconds),
    messages: most,
    characters: length,
  };
}

/** The rules of one chat, with only those keys that were written. */
export function chatRules<Chat extends { readonly gather?: z.output<typeof chatGatherSchema> }>({
  gather,
  ...chat
}: Chat): Omit<Chat, "gather"> & Pick<ChatRules, "gather"> {
  return gather === undefined ? chat : { ...chat, gather: writtenIn(gather) };
}

const KEYS = {
  textSeconds: "textMs",
  fragmentSeconds: "fragmentMs",
  mediaSeconds: "mediaMs",
  albumSeconds: "albumMs",
  forwardSeconds: "forwardMs",
  longestSeconds: "longestMs",
} as const;

function writtenIn(settings: z.output<typeof chatGatherSchema>): Partial<GatherRules> {
  const { messages: most, characters: length } = settings;
  const windows = Object.entries(KEYS).flatMap(([key, as]) => {
    const written = settings[key as keyof typeof KEYS]; // a key of KEYS itself
    return written === undefined ? [] : [[as, ms(written)]];
  });
  return {
    ...Object.fromEntries(windows),
    ...(most === undefined ? {} : { messages: most }),
    ...(length === undefined ? {} : { characters: length }),
  };
}

function ms(written: number): number {
  return Math.round(written * 1_000);
}
