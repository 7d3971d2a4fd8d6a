import type { Entry } from "./entries.ts";

/**
 * How a history file is written, a Markdown page that people, agents and `readEntries` read alike. Each entry is
 *
 *     <!-- intent-12 -->
 *     ## Person, 2026-03-01T12:00:00Z
 *
 *     What was said,
 *     in as many lines as it has.
 *
 *     <!-- /intent-12 -->
 *
 * with the id of its message in both markers, in the form of encodeURIComponent; an entry without its second marker was cut off
 * and is none. Headings are "Person, <time>", "Agent" and "Tool". A line of the text that begins like a marker has a
 * "\" before it; one that begins with such signs already has one more.
 */
export function entryText({ id, role, text, sentAt }: Entry): string {
  const name = encodeURIComponent(id);
  const heading = `## ${HEADINGS[role]}${sentAt === "" ? "" : `, ${sentAt}`}`;
  return `<!-- ${name} -->\n${heading}\n\n${escaped(text)}\n\n<!-- /${name} -->\n\n`;
}

const HEADINGS = { person: "Person", agent: "Agent", tool: "Tool" } as const satisfies Record<
  Entry["role"],
  string
>;

/** The entries that stand in a text in full, in their order. */
export function readEntries(text: string): readonly Entry[] {
  const entries: Entry[] = [];
  const lines = text.split("\n");
  let begun: { readonly name: string; readonly at: number } | undefined;
  for (const [at, line] of lines.entries()) {
    const { closes, name } = MARKER.exec(line)?.groups ?? {};
    if (name === undefined) continue;
    if (closes === "") begun = { name, at };
    else if (begun?.name === name) {
      const [heading = "", , ...said] = lines.slice(begun.at + 1, at - 1);
      const entry = read(name, heading, said);
      if (entry) entries.push(entry);
      begun = undefined;
    }
  }
  return entries;
}

/** The ids of the entries that stand there in full, and where the last of them ends; `text` has one sign for each byte. */
export function scanEntries(text: string): { readonly ids: ReadonlySet<string>; readonly end: number } {
  const ids = new Set<string>();
  let end = 0;
  for (const found of text.matchAll(CLOSING)) {
    ids.add(decodeURIComponent(found[1] ?? ""));
    end = found.index + found[0].length;
  }
  return { ids, end };
}

const MARKER = /^<!-- (?<closes>\/?)(?<name>[\w.!~*'()%-]*) -->$/;
const CLOSING = /^<!-- \/([\w.!~*'()%-]*) -->\n\n/gm;

function read(name: string, heading: string, said: readonly string[]): Entry | undefined {
  const [, kind, sentAt = ""] = /^## (Person|Agent|Tool)(?:, (.*))?$/.exec(heading) ?? [];
  const role = ROLES.find((each) => HEADINGS[each] === kind);
  if (role === undefined) return undefined;
  const text = said.map((line) => line.replace(ESCAPED, "$1")).join("\n");
  return { id: decodeURIComponent(name), role, text, sentAt };
}

const ROLES = ["person", "agent", "tool"] as const;

const LIKE_MARKER = /^\\*<!--/;
const ESCAPED = /^\\(\\*<!--)/;

function escaped(text: string): string {
  return text
    .split("\n")
    .map((line) => (LIKE_MARKER.test(line) ? `\\${line}` : line))
    .join("\n");
}
