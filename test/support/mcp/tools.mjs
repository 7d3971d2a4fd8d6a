import { appendFileSync } from "node:fs";

const words = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const nothing = { type: "object", properties: {} };
// A picture of one pixel.
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** What a server of the tests has; `more` are besides, for a catalogue that is worth hiding. */
export function tools(more, prefix = "") {
  const own = [
    {
      name: "echo",
      description: "Says the text again.",
      inputSchema: words,
      annotations: { readOnlyHint: true },
    },
    { name: "add_note", description: "Writes a note down.", inputSchema: words },
    { name: "environment", description: "Names what it finds in its environment.", inputSchema: nothing },
    { name: "die", description: "Ends the server in the middle of a call.", inputSchema: nothing },
    { name: "never", description: "Never answers.", inputSchema: nothing },
    { name: "huge", description: "Gives five million characters.", inputSchema: nothing },
    { name: "picture", description: "Gives a picture.", inputSchema: nothing },
    { name: "fail", description: "Fails, and says why.", inputSchema: nothing },
    { name: "say_changed", description: "Tells that there are other tools now.", inputSchema: nothing },
    { name: "odd.name", description: "Has a name that providers refuse.", inputSchema: nothing },
    {
      name: "odd_schema",
      description: "Takes what providers refuse.",
      inputSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: { place: { type: "object", properties: { name: { type: ["string", "null"] } } } },
        oneOf: [
          { type: "object", properties: { where: { $ref: "#/$defs/place" } }, required: ["where"] },
          { type: "object", properties: { id: { const: 7 } } },
        ],
        if: { required: ["id"] },
        unevaluatedProperties: false,
      },
    },
    { name: "no_schema", description: "Takes a text.", inputSchema: { type: "string" } },
    { description: "Has no name.", inputSchema: nothing },
  ];
  const others = Array.from({ length: more }, (_, i) => ({
    name: `other_${i}`,
    description: `Does the thing of number ${i}, which takes some words to tell: ${"words ".repeat(30)}`,
    inputSchema: words,
  }));
  return prefix === "" ? [...own, ...others] : [{ ...own[0], name: `${prefix}echo` }];
}

export async function answers(name, { text = "" }, env) {
  const said = (value) => ({ content: [{ type: "text", text: value }] });
  switch (name) {
    case "echo":
      return said(`echo: ${text}`);
    case "add_note":
      if (env.NOTES) appendFileSync(env.NOTES, `${text}\n`);
      return said("written");
    case "environment":
      return said(Object.keys(env).toSorted().join(" "));
    case "never":
      return await new Promise(() => {});
    case "huge":
      return said(`begin ${"x".repeat(5_000_000)} end`);
    case "picture":
      return {
        content: [
          { type: "text", text: "here" },
          { type: "image", data: PIXEL, mimeType: "image/png" },
          { type: "resource_link", uri: "https://example.org/x", name: "more" },
        ],
      };
    case "fail":
      return { ...said("the disk is full"), isError: true };
    default:
      return said(`${name} was called`);
  }
}
