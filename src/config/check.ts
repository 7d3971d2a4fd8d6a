import { z } from "zod";

import type { ChannelKind, SettingsIssue, SettingsSchema } from "../core/channel.ts";
import { suggestion } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Path } from "./path.ts";
import { hideSecrets } from "./secrets.ts";
import { child } from "./yaml-source.ts";
import type { YamlSource } from "./yaml-source.ts";

/** A channel kind as far as the configuration knows it. */
export type KindSettings = Pick<ChannelKind<unknown>, "kind" | "settings" | "owner" | "people">;

type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/**
 * Checks a part of a file with a zod schema. `at` is where the part stands in the file; `beside` are keys that stand
 * there too and are checked elsewhere, for the did-you-mean.
 * What is unset or has a fault already is not told again: the faults of a failed check may be none.
 */
export function check<T>(
  schema: SettingsSchema<T>,
  value: unknown,
  source: YamlSource,
  at: Path = [],
  beside: readonly string[] = [],
): Checked<T> {
  let result = schema.safeParse(value);
  if (!result.success) {
    const typed = readVariables(value, result.error.issues, source, at);
    if (typed !== undefined) result = schema.safeParse(typed);
  }
  if (result.success) return { ok: true, value: result.data };
  return {
    ok: false,
    faults: result.error.issues.flatMap((issue) => issueFaults(issue, schema, source, at, beside)),
  };
}

/**
 * The keys that a schema knows at a path of its own; where it has several forms, those of the forms that `written`,
 * which says what stands under a key there, can be.
 */
export function keysAt(
  schema: SettingsSchema<unknown>,
  path: Path,
  written: (key: string) => string | undefined = () => undefined,
): readonly string[] {
  let at: JsonSchema | undefined = toJsonSchema(schema);
  for (const step of path) {
    const other: JsonSchema | undefined = typeof step === "number" ? at?.items : at?.additionalProperties;
    at = at?.properties?.[step] ?? other;
  }
  const forms = [at ?? {}, ...(at?.oneOf ?? []), ...(at?.anyOf ?? [])];
  const possible = forms.filter(({ properties = {} }) =>
    Object.entries(properties).every(
      ([key, { const: fixed }]) => fixed === undefined || fixed === (written(key) ?? fixed),
    ),
  );
  return [...new Set(possible.flatMap(({ properties = {} }) => Object.keys(properties)))];
}

export type JsonSchema = {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema;
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly required?: readonly string[];
};

/** What may be written, rather than what it becomes. */
export function toJsonSchema(schema: SettingsSchema<unknown>): JsonSchema {
  // Settings are zod schemas, as ChannelKind says; what zod writes for objects has this shape.
  return z.toJSONSchema(schema as unknown as z.ZodType, {
    io: "input",
    unrepresentable: "any",
  }) as JsonSchema;
}

/** `${PORT}` is text until a schema asks for a number: gives the value again with such texts read, if there are any. */
function readVariables(
  value: unknown,
  issues: readonly SettingsIssue[],
  source: YamlSource,
  at: Path,
): unknown {
  const copy = structuredClone(value);
  let found = false;
  for (const issue of issues) {
    const path = steps(issue);
    if (!source.fromVariable([...at, ...path])) continue;
    const last = path.at(-1);
    const holder = path.slice(0, -1).reduce<unknown>((part, step) => child(part, step), copy);
    if (last === undefined || typeof holder !== "object" || holder === null) continue;
    const read = readAs(expectedOf(issue), child(holder, last));
    if (read === undefined) continue;
    // `holder` is a map or list of plain data, and `last` is a key that it has.
    (holder as Record<string | number, unknown>)[last] = read;
    found = true;
  }
  return found ? copy : undefined;
}

function readAs(expected: string, text: unknown): number | boolean | undefined {
  if (typeof text !== "string") return undefined;
  if (expected === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  if (expected !== "number" && expected !== "int") return undefined;
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function issueFaults(
  issue: SettingsIssue,
  schema: SettingsSchema<unknown>,
  source: YamlSource,
  at: Path,
  beside: readonly string[],
): readonly Fault[] {
  const path = steps(issue);
  const full = [...at, ...path];
  // zod's issues carry what SettingsIssue leaves out; each field is looked at for its own code alone.
  const detail = issue as z.core.$ZodIssue;
  if (detail.code === "unrecognized_keys") {
    const forms = keysAt(schema, path, (key) => source.text([...full, key]));
    const known = [...forms, ...(path.length === 0 ? beside : [])];
    return detail.keys
      .filter((key) => !source.spoiledUnder([...full, key]) || source.unsetUnder([...full, key]).length > 0)
      .map((key) => source.fault([...full, key], "unknown key", suggestion(key, known)));
  }
  // Of several forms, the one that the value got furthest with says best what is wrong.
  const near =
    detail.code === "invalid_union" ? detail.errors.find((form) => form.some(isInside)) : undefined;
  if (near) {
    const inside = near.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
    return inside.flatMap((inner) => issueFaults(inner, schema, source, at, beside));
  }
  if (source.spoiledUnder(full)) return [];
  const { problem, remedy } = words(detail, full, source);
  return [source.fault(full, hideSecrets(problem, source.secrets), hideSecrets(remedy, source.secrets))];
}

/** Only a map has keys, so what says that one is unknown knows the form too. */
function isInside({ path, code }: z.core.$ZodIssue): boolean {
  return path.length > 0 || code === "unrecognized_keys";
}

type Words = { readonly problem: string; readonly remedy: string };

function words(issue: z.core.$ZodIssue, path: Path, source: YamlSource): Words {
  const key = String(path.at(-1) ?? "it");
  // Schemas with sentences of their own write "what is wrong; what to do".
  const own = issue.code === "invalid_key" ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  if (!/^(?:Invalid|Too (?:big|small))/.test(own)) {
    const [problem = own, remedy = "Correct it"] = own.split(/;\s+/, 2);
    return { problem, remedy };
  }
  switch (issue.code) {
    case "invalid_type": {
      const type = TYPES[issue.expected] ?? `a ${issue.expected}`;
      return source.has(path)
        ? { problem: `must be ${type}`, remedy: `Write ${type}` }
        : { problem: "is missing", remedy: `Write ${key}: with ${type}` };
    }
    case "invalid_value": {
      const values = issue.values.map(String);
      const written = source.text(path);
      return {
        problem: source.has(path) ? `must be ${oneOf(values)}` : "is missing",
        remedy: written === undefined ? `Write ${oneOf(values)}` : suggestion(written, values),
      };
    }
    case "too_big":
      return limit("at most", issue.maximum, issue.origin, key);
    case "too_small":
      return limit("at least", issue.minimum, issue.origin, key);
    case "invalid_format":
      return issue.format === "url"
        ? { problem: "must be a web address", remedy: "Write it in full: https://example.org" }
        : { problem: `has not the form of ${issue.format}`, remedy: "Correct it" };
    default:
      return { problem: issue.message, remedy: "Correct it" };
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: "text in quotes",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list: [a, b]",
  object: "a map of keys",
  record: "a map of keys",
};

function oneOf(values: readonly string[]): string {
  return [values.slice(0, -1).join(", "), ...values.slice(-1)].filter(Boolean).join(" or ");
}

function limit(bound: string, value: number | bigint, origin: string, key: string): Words {
  const unit = origin === "string" ? " characters" : origin === "array" ? " entries" : unitOf(key);
  const one = Number(value) === 1 ? unit.replace(/s$/, "") : unit;
  return { problem: `must be ${bound} ${value}${one}`, remedy: `Write ${bound} ${value}` };
}

/** Units stand in the names: "fetchSeconds". */
function unitOf(key: string): string {
  return key.endsWith("Bytes") ? " bytes" : key.endsWith("Seconds") ? " seconds" : "";
}

function expectedOf(issue: SettingsIssue): string {
  return "expected" in issue && typeof issue.expected === "string" ? issue.expected : "";
}

/** Plain data has no symbols for keys. */
function steps(issue: SettingsIssue): Path {
  return issue.path.map((step) => (typeof step === "number" ? step : String(step)));
}
