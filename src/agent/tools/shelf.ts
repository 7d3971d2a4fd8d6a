import { createHash } from "node:crypto";
import type { ClientTool, ServerTool } from "@langchain/core/tools";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import type { Promoted } from "../state.ts";
import { isDeferred, nameOfTool } from "./deferring.ts";

/**
 * What the definitions of deferred tools may have together and still be sent with every request: about 1,500 tokens, some
 * ten tools of the usual size. To hide them takes 150 tokens for the search and five for each name in every request, a
 * request more for each search, and its results stay in the thread.
 */
const SHOWN_CHARACTERS = 6_000;
const MOST_FOUND = 5;

/** A tool of the shelf, as searches read it. */
type Item = { readonly tool: ClientTool; readonly name: string; readonly description: string };

/** What there is on the shelf at one time. */
export type Shelved = {
  readonly items: readonly Item[];
  /** Whether they are hidden until they are searched for; with few and small ones that costs more than it saves. */
  readonly hidden: boolean;
  /** Of names and schemas: what was searched for holds for these alone. */
  readonly catalogue: string;
};

/** The tools of an agent that it is not shown from the start: its own deferred ones, and those of its servers. */
export class Shelf {
  readonly #own: readonly ClientTool[];
  readonly #more: () => readonly ClientTool[];
  #last: { readonly more: readonly ClientTool[]; readonly shelved: Shelved } | undefined;

  /** `more` gives the same list as long as nothing has changed. */
  constructor(tools: readonly (ClientTool | ServerTool)[], more: () => readonly ClientTool[]) {
    this.#own = tools.filter((tool): tool is ClientTool => isDeferred(tool));
    this.#more = more;
  }

  now(): Shelved {
    const more = this.#more();
    if (this.#last?.more !== more) this.#last = { more, shelved: shelve([...this.#own, ...more]) };
    return this.#last.shelved;
  }
}

/**
 * Of its tools those that the model is shown, in the order in which it has found them. What was found when there were
 * other tools may be another tool by now.
 */
export function shownOf(
  { items, hidden, catalogue }: Shelved,
  promoted: Promoted | undefined,
): readonly ClientTool[] {
  if (!hidden) return items.map(({ tool }) => tool);
  const names = promoted?.catalogue === catalogue ? promoted.names : [];
  return names.flatMap((name) => items.find((item) => item.name === name)?.tool ?? []);
}

function shelve(tools: readonly ClientTool[]): Shelved {
  const items = tools
    .map((tool) => ({ tool, name: nameOfTool(tool), description: tool.description ?? "" }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const written = JSON.stringify(items.map(({ tool, name }) => ({ name, schema: schemaOf(tool) })));
  const characters = written.length + items.reduce((sum, { description }) => sum + description.length, 0);
  return {
    items,
    hidden: characters > SHOWN_CHARACTERS,
    catalogue: createHash("sha256").update(written).digest("hex").slice(0, 16),
  };
}

function schemaOf(tool: ClientTool): unknown {
  return (convertToOpenAITool(tool) as { function: { parameters?: unknown } }).function.parameters; // so it writes all tools
}

/**
 * The tools that a search means, at most five, the best first: "select:a,b" are those names; else words, where "+word" has to
 * be in the name or the description.
 */
export function searched({ items }: Shelved, query: string): readonly Item[] {
  const [, named] = /^\s*select:(.*)$/s.exec(query) ?? [];
  if (named !== undefined) {
    const names = new Set(named.split(",").map((name) => name.trim()));
    return items.filter(({ name }) => names.has(name)).slice(0, MOST_FOUND);
  }
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word));
  const must = words.filter((word) => word.startsWith("+")).map((word) => word.slice(1));
  const all = words.map((word) => word.replace(/^\+/, ""));
  const ranked = items.flatMap((item, at) => {
    const name = item.name.toLowerCase();
    const description = item.description.toLowerCase();
    if (!must.every((word) => name.includes(word) || description.includes(word))) return [];
    const score = all.reduce(
      (sum, word) => sum + (name.includes(word) ? 3 : 0) + (description.includes(word) ? 1 : 0),
      0,
    );
    return score === 0 ? [] : [{ item, score, at }];
  });
  return ranked
    .toSorted((a, b) => b.score - a.score || a.at - b.at)
    .slice(0, MOST_FOUND)
    .map(({ item }) => item);
}
