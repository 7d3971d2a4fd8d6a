import { z } from "zod";

/** One fact as a model writes it down; nothing of it is trusted. */
export type Noted = {
  readonly content: string;
  readonly confidence: number;
  /** The number of the message that it is taken from; NaN where the model says none. */
  readonly saidAt: number;
  readonly replaces: readonly number[];
};

const NUMBER = z.coerce.number().catch(Number.NaN);
const NOTED = z.object({
  content: z.string(),
  confidence: NUMBER.default(Number.NaN),
  saidAt: NUMBER.default(Number.NaN),
  replaces: z
    .union([z.array(NUMBER), NUMBER.transform((one) => [one])])
    .catch([])
    .default([]),
});

/**
 * The facts in what a model answered: JSON, whatever it has written before, behind and around that. Undefined where there is
 * none to be read, which is not the same as an empty list. Items that are no facts are left out.
 */
export function notedIn(answer: string): readonly Noted[] | undefined {
  for (const found of jsonIn(answer)) {
    const list: unknown = Array.isArray(found) ? found : (found as { facts?: unknown } | null)?.facts;
    if (!Array.isArray(list)) continue;
    const noted = list.flatMap((item: unknown): readonly Noted[] => {
      const read = NOTED.safeParse(typeof item === "string" ? { content: item } : item);
      return read.success ? [read.data] : [];
    });
    if (noted.length > 0 || list.length === 0) return noted;
  }
  return undefined;
}

/** Where a JSON value could begin and end: whole, in fences, and from the first sign of one to the last. */
function* jsonIn(answer: string): Generator {
  const fenced = [...answer.matchAll(/```[\w-]*[^\S\n]*\n(.*?)```/gs)].map(([, inside = ""]) => inside);
  const spans = [
    answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1),
    answer.slice(answer.indexOf("["), answer.lastIndexOf("]") + 1),
  ];
  for (const text of [answer, ...fenced, ...spans]) {
    try {
      yield JSON.parse(text) as unknown;
    } catch {
      // It is none; the next may be.
    }
  }
}
