import { parse } from "yaml";

/** What a skill says of itself at the head of its SKILL.md. */
export type FrontMatter = { readonly name: string; readonly description: string };

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const NAME_CHARACTERS = 64;
const DESCRIPTION_CHARACTERS = 1_024;

/** The front matter of a SKILL.md, or what is wrong with it: a part of a sentence, without the file's own words. */
export function frontMatterOf(text: string): FrontMatter | { readonly wrong: string } {
  const front = between(text);
  if (front === undefined) return { wrong: "has no front matter between two lines of --- at its head" };
  let value: unknown;
  try {
    // Without references there is nothing in it that could grow.
    value = parse(front, { maxAliasCount: 0, logLevel: "error" });
  } catch {
    return { wrong: "has front matter that is not YAML" };
  }
  if (typeof value !== "object" || value === null) return { wrong: "has front matter without a name" };
  const { name, description } = value as { readonly name?: unknown; readonly description?: unknown }; // looked at below
  if (typeof name !== "string" || !NAME.test(name) || name.length > NAME_CHARACTERS)
    return { wrong: `needs a name of small letters, digits and single hyphens, at most ${NAME_CHARACTERS}` };
  if (typeof description !== "string" || description.trim() === "") return { wrong: "has no description" };
  const words = description.trim().replaceAll(/\s+/g, " ");
  if (words.length > DESCRIPTION_CHARACTERS)
    return { wrong: `has a description of over ${DESCRIPTION_CHARACTERS} characters` };
  return { name, description: words };
}

function between(text: string): string | undefined {
  const [first, ...lines] = text.replace(/^\ufeff/, "").split(/\r?\n/);
  if (first?.trimEnd() !== "---") return undefined;
  const end = lines.findIndex((line) => line.trimEnd() === "---");
  return end < 0 ? undefined : lines.slice(0, end).join("\n");
}
