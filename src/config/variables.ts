import type { Fault } from "./faults.ts";

/** The value of an environment variable; an empty one counts as unset, as a copied `.env.example` leaves it. */
export type Lookup = (name: string) => string | undefined;

type Expanded = {
  /** Unset variables stay as they are written. */
  readonly text: string;
  /** Variables that are referred to. */
  readonly names: readonly string[];
  /** Those of them that are not set and have no default. */
  readonly unset: readonly string[];
  /** The text between the variables and the non-empty defaults: what stands in the file itself. */
  readonly literal: string;
  /** A `${` that is not of the form `${NAME}` or `${NAME:-default}`. */
  readonly malformed: boolean;
};

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}/g;

/** Fills in `${VAR}` and `${VAR:-default}`; values are not looked through again. */
export function expand(source: string, lookup: Lookup): Expanded {
  const names: string[] = [];
  const unset: string[] = [];
  let literal = "";
  let end = 0;
  const text = source.replaceAll(
    REFERENCE,
    (whole, name: string, fallback: string | undefined, offset: number) => {
      literal += source.slice(end, offset) + (fallback ?? "");
      end = offset + whole.length;
      names.push(name);
      const value = lookup(name) ?? fallback;
      if (value === undefined) unset.push(name);
      return value ?? whole;
    },
  );
  literal += source.slice(end);
  return { text, names, unset, literal, malformed: literal.includes("${") };
}

/**
 * Reads a `.env` file: `NAME=value`, an `export` before it, quotes around the value, `#` comments. One line each.
 * A line that is none of these is a fault, and its text is not shown: it may be a secret.
 */
export function parseDotenv(
  text: string,
  file: string,
): { readonly values: ReadonlyMap<string, string>; readonly faults: readonly Fault[] } {
  const values = new Map<string, string>();
  const faults: Fault[] = [];
  for (const [index, raw] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const [, name, rest = ""] = /^(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)$/.exec(line) ?? [];
    const value = unquote(rest);
    if (name === undefined || value === undefined) {
      faults.push({
        file,
        path: name ?? "",
        line: index + 1,
        problem: name === undefined ? "not a NAME=value line" : "the quote is not closed on this line",
        remedy:
          name === undefined ? "Write NAME=value, or # before a comment" : "Close the quote, or remove it",
      });
    } else if (values.has(name)) {
      faults.push({
        file,
        path: name,
        line: index + 1,
        problem: "set a second time",
        remedy: "Keep one of the two lines",
      });
    } else {
      values.set(name, value);
    }
  }
  return { values, faults };
}

function unquote(rest: string): string | undefined {
  const quote = rest[0];
  if (quote !== '"' && quote !== "'") return rest.replace(/(^|\s+)#.*$/, "").trim();
  const end = rest.indexOf(quote, 1);
  return end === -1 || !/^\s*(#.*)?$/.test(rest.slice(end + 1)) ? undefined : rest.slice(1, end);
}
