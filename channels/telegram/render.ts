import { eastAsianWidth } from "get-east-asian-width";
import { type Dialect, renderMarks } from "../../src/core/render-marks.ts";
import type { MarkdownTree, Rendered } from "../../src/core/tree.ts";
import { acceptableLink } from "./links.ts";
import { clean } from "./normalise.ts";
import { richBlocks } from "./rich-blocks.ts";

/**
 * The tree as text and entities, the way that Telegram stores it: nothing here is changed by the server, so offsets
 * hold and an edit can be compared.
 */
export function render(tree: MarkdownTree): Rendered {
  return renderMarks(tree, DIALECT);
}

/** With the same in blocks of a rich message, where those show more. */
export function renderRich(tree: MarkdownTree): Rendered {
  const rich = richBlocks(tree);
  return rich ? { ...render(tree), rich } : render(tree);
}

const DIALECT: Dialect = {
  clean,
  // Bot API MessageEntity.type
  marks: {
    bold: "bold",
    italic: "italic",
    strike: "strikethrough",
    code: "code",
    block: "pre",
    quote: "blockquote",
  },
  bullet: "• ",
  rule: "──────────",
  languages: true,
  link(address) {
    const url = acceptableLink(address);
    return url === undefined ? undefined : { type: "text_link", url };
  },
  tableColumns: 40, // of a phone that is held upright; longer lines of `pre` are wrapped
  widthOf: eastAsianWidth,
};
