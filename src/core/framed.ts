import { createHash } from "node:crypto";

/**
 * Text from elsewhere as data that cannot close its frame: the mark is 128 bits of the text's own digest, and no text can be
 * found that holds them. The same text reads the same in every request: providers cache by prefix. `head` says what it is.
 */
export function framed(kind: string, head: string, text: string): string {
  const mark = createHash("sha256").update(text).digest("hex").slice(0, 32);
  return [head, `<${kind}-${mark}>`, text, `</${kind}-${mark}>`].join("\n");
}
