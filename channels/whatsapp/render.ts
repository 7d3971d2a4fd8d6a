import { eastAsianWidth } from "get-east-asian-width";
import { type Dialect, renderMarks } from "../../src/core/render-marks.ts";
import type { MarkdownTree, Rendered } from "../../src/core/tree.ts";

/** The tree as text and marks; `inSigns` writes them as WhatsApp reads them, when a piece is sent. */
export function render(tree: MarkdownTree): Rendered {
  return renderMarks(tree, DIALECT);
}

const DIALECT: Dialect = {
  clean: (text) =>
    text.replaceAll(/(?![\n\t])\p{Cc}|[\u202a-\u202e]/gu, "").replaceAll(/\p{Surrogate}/gu, "\ufffd"),
  marks: {
    bold: "bold",
    italic: "italic",
    strike: "strike",
    code: "code",
    block: "block",
    quote: "quote",
  },
  bullet: "- ",
  rule: "———",
  languages: false,
  link: () => undefined, // there are no links with words of their own
  tableColumns: 35, // of a phone that is held upright
  widthOf: eastAsianWidth,
};
