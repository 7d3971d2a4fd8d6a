import { ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { providersWords } from "./errors.ts";
import type { Shown } from "./show.ts";

/**
 * What to leave out of a request that was refused, one try after the other until one is taken: all of a kind that the
 * provider says it does not take, else what is likeliest. What earlier turns brought has been taken before, so the
 * newest message's is tried first, in halves, the larger files before the smaller.
 */
export function guesses(thrown: unknown, shown: readonly Shown[]): readonly (readonly Shown[])[] {
  const last = Math.max(...shown.map(({ message }) => message));
  const newest = shown.filter(({ message }) => message === last).toSorted((a, b) => a.bytes - b.bytes);
  const half = Math.floor(newest.length / 2);
  const tries = [unseenKind(thrown, shown), newest.slice(half), newest.slice(0, half), newest, shown];
  const sets = new Set<string>();
  return tries.filter((each) => {
    const set = each
      .map(({ message, part }) => `${message}.${part}`)
      .toSorted()
      .join();
    return each.length > 0 && !sets.has(set) && sets.add(set);
  });
}

/** "messages.3.content.1.image.source" (Anthropic), "messages[3].content[1]" and "input[3].content[1]" (OpenAI). */
const PLACE = /\b(?:messages|input|contents)\W{0,3}(\d+)\W{1,3}(?:content|parts)\W{0,3}(\d+)/;

/** The bytes that the provider names as what it refuses. */
export function namedIn(
  thrown: unknown,
  shown: readonly Shown[],
  messages: readonly BaseMessage[],
): Shown | undefined {
  const [, at, part] = PLACE.exec(providersWords(thrown)) ?? [];
  if (at === undefined || part === undefined) return undefined;
  const there = shown.filter((each) => each.part === Number(part));
  if (there.length === 1) return there[0];
  // Anthropic counts without the system prompt, OpenAI with it.
  const found = [0, 1].flatMap((before) =>
    there.filter(({ message }) => placeOf(message, messages) + before === Number(at)),
  );
  return found.length === 1 ? found[0] : undefined;
}

/** Results of tools that follow one another are one message on Anthropic's wire. */
function placeOf(message: number, messages: readonly BaseMessage[]): number {
  const merged = messages
    .slice(0, message)
    .filter((each, at) => ToolMessage.isInstance(each) && ToolMessage.isInstance(messages[at - 1]));
  return message - merged.length;
}

const KINDS: readonly (readonly [Shown["kind"], RegExp])[] = [
  ["image", /image|vision|multi-?modal/i],
  ["file", /pdf|document|\bfile/i],
  ["audio", /audio/i],
];
const NOT_AT_ALL =
  /(not|n't) (currently )?(support|accept|process|a multi)|no support|not supported|only supported by|no endpoints|unknown (part|content|variant)|missing data/i;
/** What is said of one file and not of all of a kind. */
const OF_ONE =
  /format|mime|media.?type|corrupt|damaged|pixel|dimension|exceed|too (large|many|long|big)|could not|unable/i;

/** All bytes of a kind that a provider says its model does not take at all; none where it says no such thing. */
export function unseenKind(thrown: unknown, shown: readonly Shown[]): readonly Shown[] {
  const words = providersWords(thrown);
  if (!NOT_AT_ALL.test(words) || OF_ONE.test(words)) return [];
  const kind = KINDS.find(
    ([name, pattern]) => pattern.test(words) && shown.some((each) => each.kind === name),
  )?.[0];
  return shown.filter((each) => each.kind === kind);
}
