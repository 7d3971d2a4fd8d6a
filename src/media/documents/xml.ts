import { TextDecoder } from "node:util";
import { SaxesParser } from "saxes";

export type Attributes = Readonly<Record<string, string>>;

/** Names come without their prefix: which one a writer chose for a namespace says nothing. */
export type XmlReader = {
  readonly open?: (name: string, attributes: Attributes) => void;
  readonly close?: (name: string) => void;
  readonly text?: (text: string) => void;
  /** Asked now and then: whether what comes may be left. */
  readonly enough?: () => boolean;
};

/**
 * Reads XML as it comes, without a tree. Entities of a document type are never expanded, nothing outside is looked for,
 * and what is not well-formed is read as far as it makes sense.
 */
export async function readXml(source: AsyncIterable<Uint8Array>, reader: XmlReader): Promise<void> {
  const parser = new SaxesParser();
  parser.on("error", () => {});
  parser.on("opentag", ({ name, attributes }) => reader.open?.(local(name), attributes));
  parser.on("closetag", ({ name }) => reader.close?.(local(name)));
  if (reader.text) {
    parser.on("text", reader.text);
    parser.on("cdata", reader.text);
  }
  let decoder: TextDecoder | undefined;
  for await (const chunk of source) {
    decoder ??= new TextDecoder(encodingOf(chunk));
    parser.write(decoder.decode(chunk, { stream: true }));
    if (reader.enough?.()) return;
  }
  parser.close();
}

/** The value of an attribute under any prefix; undefined where it has none. */
export function valueOf(attributes: Attributes, name: string): string | undefined {
  const own = attributes[name];
  if (own !== undefined) return own;
  const key = Object.keys(attributes).find(
    (full) => full.endsWith(name) && full.at(-name.length - 1) === ":",
  );
  return key === undefined ? undefined : attributes[key];
}

/** The value of an attribute that has a prefix: `r:id` beside `id`. */
export function prefixedValueOf(attributes: Attributes, name: string): string | undefined {
  const key = Object.keys(attributes).find((full) => full.endsWith(`:${name}`));
  return key === undefined ? undefined : attributes[key];
}

function local(name: string): string {
  const colon = name.indexOf(":");
  return colon < 0 ? name : name.slice(colon + 1);
}

function encodingOf(head: Uint8Array): string {
  const [a, b] = head;
  if (a === 0xff && b === 0xfe) return "utf-16le";
  if (a === 0xfe && b === 0xff) return "utf-16be";
  const declared = /^<\?xml[^>]*encoding=["']([\w.-]+)["']/.exec(
    Buffer.from(head.subarray(0, 200)).toString("latin1"),
  );
  try {
    return new TextDecoder(declared?.[1]).encoding;
  } catch {
    return "utf-8";
  }
}
