/** A schema of a tool's arguments in words that every provider takes. */
export type ToolSchema = {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
};

type Json = Readonly<Record<string, unknown>>;

const MOST_DEPTH = 12;
const MOST_CHARACTERS = 20_000;
const MOST_NODES = 2_000;
/** Anthropic's rule for names of arguments. */
const ARGUMENT = /^[a-zA-Z0-9_.-]{1,64}$/;
const TYPES: ReadonlySet<unknown> = new Set(["object", "array", "string", "number", "integer", "boolean"]);
const KEPT = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"] as const;
const WORDS = 1_000;

/**
 * What a server says of a tool's arguments, repaired: references are put in, unions at the top made one, and words that
 * some provider refuses left out; the server checks its arguments itself. Undefined where there is no sense to be made of
 * it, or it is too large.
 */
export function repairedSchema(written: unknown): ToolSchema | undefined {
  if (!isJson(written)) return undefined;
  const walk: Walk = { root: written, nodes: 0 };
  const whole = merged(written, walk, []);
  if (whole.type !== undefined && whole.type !== "object") return undefined;
  const { properties = {}, required = [] } = objectOf(whole, walk, 0, []);
  // What cannot be named cannot be given.
  if (!required.every((name) => Object.hasOwn(properties, name))) return undefined;
  const schema: ToolSchema = {
    type: "object",
    properties,
    ...(required.length === 0 ? {} : { required }),
  };
  const tooLarge = walk.nodes > MOST_NODES || JSON.stringify(schema).length > MOST_CHARACTERS;
  return tooLarge ? undefined : schema;
}

/** `nodes` counts, for references may unfold without end. */
type Walk = { readonly root: Json; nodes: number };

type Written = Json & { readonly type?: unknown };

/** The schema with what it refers to, and all of `allOf` and of a union of objects, as one. */
function merged(written: Json, walk: Walk, seen: readonly string[]): Written {
  const { target, trail } = resolved(written, walk, seen);
  if (target === undefined) return {};
  const parts = listOf(target["allOf"]).map((each) => merged(each, walk, trail));
  const union = [...listOf(target["anyOf"]), ...listOf(target["oneOf"])]
    .map((each) => merged(each, walk, trail))
    .filter((each) => isJson(each["properties"]));
  let whole: Json = target;
  for (const each of parts) whole = together(whole, each, "all");
  if (union.length > 0) {
    const first = union[0] ?? {};
    whole = together(
      whole,
      union.slice(1).reduce((one, other) => together(one, other, "both"), first),
      "all",
    );
  }
  return whole;
}

/** Of two objects one; asked for is what either asks for, or where it is a choice, what both do. */
function together(one: Json, other: Json, required: "all" | "both"): Json {
  const ours = namesOf(one["required"]);
  const theirs = namesOf(other["required"]);
  return {
    ...other,
    ...one,
    properties: { ...propertiesOf(other), ...propertiesOf(one) },
    required:
      required === "all" ? [...new Set([...ours, ...theirs])] : ours.filter((name) => theirs.includes(name)),
  };
}

function resolved(
  written: Json,
  { root }: Walk,
  seen: readonly string[],
): { readonly target: Json | undefined; readonly trail: readonly string[] } {
  const reference = written["$ref"];
  if (typeof reference !== "string") return { target: written, trail: seen };
  const [, where = "", name = ""] = /^#\/(\$defs|definitions)\/(.+)$/.exec(reference) ?? [];
  const held = root[where];
  const target = isJson(held) && Object.hasOwn(held, name) ? held[name] : undefined;
  if (!isJson(target) || seen.includes(reference)) return { target: undefined, trail: seen };
  const { $ref: _, ...beside } = written;
  return resolved({ ...target, ...beside }, { root, nodes: 0 }, [...seen, reference]);
}

/** Undefined where it is not to be written at all; `{}` stands for anything. */
function part(written: unknown, walk: Walk, depth: number, seen: readonly string[]): Json {
  walk.nodes += 1;
  if (!isJson(written) || depth > MOST_DEPTH || walk.nodes > MOST_NODES) return {};
  const { target, trail } = resolved(written, walk, seen);
  if (target === undefined) return {};
  if (listOf(target["allOf"]).length > 0) {
    const { allOf: _, ...whole } = merged(target, walk, trail);
    return part(whole, walk, depth + 1, trail);
  }
  const said = target["description"];
  const description =
    typeof said === "string" && said !== "" ? { description: said.slice(0, WORDS).toWellFormed() } : {};
  const forms = [...listOf(target["anyOf"]), ...listOf(target["oneOf"])]
    .map((form) => part(form, walk, depth + 1, trail))
    .filter((form) => form["type"] !== undefined || form["enum"] !== undefined);
  const [form] = forms;
  if (form !== undefined)
    return forms.length === 1 ? { ...form, ...description } : { anyOf: forms, ...description };
  const type = typeOf(target);
  const values = target["const"] === undefined ? target["enum"] : [target["const"]];
  const plain = Array.isArray(values) ? values.filter((value) => isPlain(value)) : [];
  const bounds = Object.fromEntries(
    KEPT.flatMap((key) => (typeof target[key] === "number" ? [[key, target[key]]] : [])),
  );
  return {
    ...(type === undefined ? {} : { type }),
    ...description,
    ...(plain.length > 0 ? { enum: plain } : {}),
    ...bounds,
    ...(type === "object" ? objectOf(target, walk, depth, trail) : {}),
    // OpenAI refuses lists of nobody knows what.
    ...(type === "array" ? { items: part(target["items"], walk, depth + 1, trail) } : {}),
  };
}

function objectOf(
  written: Json,
  walk: Walk,
  depth: number,
  seen: readonly string[],
): { readonly properties?: Readonly<Record<string, Json>>; readonly required?: readonly string[] } {
  const properties = Object.fromEntries(
    Object.entries(propertiesOf(written))
      .filter(([name]) => ARGUMENT.test(name))
      .map(([name, value]) => [name, part(value, walk, depth + 1, seen)]),
  );
  const required = namesOf(written["required"]).filter(
    (name) => depth === 0 || Object.hasOwn(properties, name),
  );
  return { properties, ...(required.length === 0 ? {} : { required }) };
}

/** Of several types the first that is one: `["string", "null"]` is a text that may be left out. */
function typeOf(written: Json): string | undefined {
  const { type } = written as Written;
  const found = (Array.isArray(type) ? (type as unknown[]) : [type]).find((each) => TYPES.has(each));
  if (typeof found === "string") return found;
  if (isJson(written["properties"])) return "object";
  return written["items"] === undefined ? undefined : "array";
}

function propertiesOf(written: Json): Readonly<Record<string, unknown>> {
  return isJson(written["properties"]) ? written["properties"] : {};
}

function namesOf(written: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(written) ? written : [];
  return [...new Set(all.filter((name) => typeof name === "string"))];
}

function listOf(written: unknown): readonly Json[] {
  const all: readonly unknown[] = Array.isArray(written) ? written : [];
  return all.filter((each) => isJson(each));
}

function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
