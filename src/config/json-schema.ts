import { isDeepStrictEqual } from "node:util";

import { toJsonSchema } from "./check.ts";
import type { JsonSchema, KindSettings } from "./check.ts";
import { channelSchema, NAME, rootSchema } from "./schema.ts";

/** The JSON Schema by which an editor completes and checks perch.yaml; the same kinds give the same text. */
export function jsonSchema(kinds: readonly KindSettings[]): object {
  const sorted = kinds.toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
  const root = toJsonSchema(rootSchema);
  return orVariable({
    ...root,
    title: "perch.yaml",
    properties: {
      ...root.properties,
      channels: {
        type: "object",
        minProperties: 1,
        propertyNames: { type: "string", pattern: NAME.source },
        additionalProperties: {
          type: "object",
          properties: { kind: { enum: sorted.map((it) => it.kind) } },
          required: ["kind"],
          // One case a kind: editors then speak of the keys of this kind alone.
          allOf: sorted.map((it) => ({
            if: { properties: { kind: { const: it.kind } }, required: ["kind"] },
            // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's own word; nobody awaits this object
            then: channelOf(it),
          })),
        },
      },
    },
  }) as object; // an object goes in, so an object comes out
}

function channelOf(kind: KindSettings): object {
  const common = toJsonSchema(channelSchema);
  const own: JsonSchema = toJsonSchema(kind.settings);
  return {
    type: "object",
    properties: { ...common.properties, ...own.properties, kind: { const: kind.kind } },
    required: [...new Set([...(common.required ?? []), ...(own.required ?? [])])],
    additionalProperties: false,
  };
}

/** Where a number, a choice or a form is asked for, `${NAME}` may stand as well. */
function orVariable(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(orVariable);
  if (typeof part !== "object" || part === null) return part;
  const entries = Object.fromEntries(
    // No variable stands in a key, nor is one missing where any text may stand: an id.
    Object.entries(part).map(([key, value]) => [
      key,
      key === "propertyNames" || (key === "anyOf" && takesText(value)) ? value : orVariable(value),
    ]),
  );
  const type: unknown = entries["type"];
  const narrow =
    type === "integer" ||
    type === "number" ||
    type === "boolean" ||
    (type === "string" && ["pattern", "format", "enum", "const", "minLength"].some((key) => key in entries));
  if (!narrow) return entries;
  const { description, default: usual, ...rest } = entries;
  return {
    ...(description === undefined ? {} : { description }),
    ...(usual === undefined ? {} : { default: usual }),
    anyOf: [rest, { type: "string", pattern: "\\$\\{\\w+(:-[^{}]*)?\\}" }],
  };
}

function takesText(cases: unknown): boolean {
  return Array.isArray(cases) && cases.some((it) => isDeepStrictEqual(it, { type: "string" }));
}
