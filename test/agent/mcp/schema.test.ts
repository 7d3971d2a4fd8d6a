import { expect, it } from "vitest";
import { repairedSchema } from "../../../src/agent/mcp/schema.ts";

const object = (properties: object, required?: readonly string[]): object => ({
  type: "object",
  properties,
  ...(required === undefined ? {} : { required }),
});

it.each([
  ["nothing to give", { type: "object" }, object({})],
  ["no type", { properties: { a: { type: "string" } } }, object({ a: { type: "string" } })],
  [
    "what providers know",
    object({ a: { type: "integer", description: "How many", minimum: 1, maximum: 9 } }, ["a"]),
    object({ a: { type: "integer", description: "How many", minimum: 1, maximum: 9 } }, ["a"]),
  ],
  [
    "words that some refuse",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "x",
      ...object({ a: { type: "string", format: "uri-template", pattern: "^(?<x>a)$", default: null } }),
      unevaluatedProperties: false,
      additionalProperties: false,
      if: {},
      not: {},
    },
    object({ a: { type: "string" } }),
  ],
  ["a constant", object({ a: { const: "x" } }), object({ a: { enum: ["x"] } })],
  ["values that are no plain ones", object({ a: { enum: ["x", null, {}] } }), object({ a: { enum: ["x"] } })],
  ["several types", object({ a: { type: ["null", "string"] } }), object({ a: { type: "string" } })],
  [
    "a choice with nothing in it",
    object({ a: { anyOf: [{ type: "string" }, { type: "null" }], description: "May be left out" } }),
    object({ a: { type: "string", description: "May be left out" } }),
  ],
  [
    "a choice",
    object({ a: { oneOf: [{ type: "string" }, { type: "number" }] } }),
    object({ a: { anyOf: [{ type: "string" }, { type: "number" }] } }),
  ],
  [
    "a list of nobody knows what",
    object({ a: { type: "array" } }),
    object({ a: { type: "array", items: {} } }),
  ],
  [
    "references, one of them in a circle",
    {
      ...object({ a: { $ref: "#/$defs/tree", description: "Mine" }, b: { $ref: "#/definitions/none" } }),
      $defs: { tree: object({ left: { $ref: "#/$defs/tree" }, name: { type: "string" } }) },
    },
    object({
      a: {
        type: "object",
        description: "Mine",
        properties: { left: {}, name: { type: "string" } },
      },
      b: {},
    }),
  ],
  [
    "a choice of objects at the top: what all ask for is asked for",
    {
      type: "object",
      oneOf: [
        object({ a: { type: "string" }, b: { type: "string" } }, ["a", "b"]),
        object({ a: { type: "string" }, c: { type: "string" } }, ["a"]),
      ],
    },
    object({ a: { type: "string" }, b: { type: "string" }, c: { type: "string" } }, ["a"]),
  ],
  [
    "parts that all hold",
    { allOf: [object({ a: { type: "string" } }, ["a"]), object({ b: { type: "number" } }, ["b"])] },
    object({ a: { type: "string" }, b: { type: "number" } }, ["a", "b"]),
  ],
  [
    "parts that all hold, further in",
    object({ x: { allOf: [object({ a: { type: "string" } }), object({ b: { type: "number" } })] } }),
    object({ x: object({ a: { type: "string" }, b: { type: "number" } }) }),
  ],
  [
    "a name that nobody takes, where it need not be given",
    object({ "a b": { type: "string" }, c: { type: "string" } }),
    object({ c: { type: "string" } }),
  ],
])("repairs %s", (_what, written, expected) => {
  expect(clean(repairedSchema(written))).toEqual(clean(expected));
});

it.each([
  ["no object", { type: "string" }],
  ["no schema", undefined],
  ["a list", []],
  ["a name that has to be given and cannot be", object({ "a b": { type: "string" } }, ["a b"])],
  ["what has to be given and is not there", object({}, ["a"])],
  [
    "one that is too large",
    object(Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`name_${i}`, { type: "string" }]))),
  ],
  [
    "one that unfolds without end",
    {
      ...object({ a: { $ref: "#/$defs/l0" } }),
      $defs: Object.fromEntries(
        Array.from({ length: 12 }, (_, i) => [
          `l${i}`,
          object(
            Object.fromEntries(
              Array.from({ length: 8 }, (_each, j) => [`p${j}`, { $ref: `#/$defs/l${i + 1}` }]),
            ),
          ),
        ]),
      ),
    },
  ],
])("leaves %s out", (_what, written) => {
  expect(repairedSchema(written)).toBeUndefined();
});

/** Whether nothing has to be given is said or not is the same. */
function clean(schema: unknown): unknown {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === "required" && Array.isArray(value) && value.length === 0 ? undefined : value,
    ),
  );
}
