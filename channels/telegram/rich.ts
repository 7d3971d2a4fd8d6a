import type { RichBlock, RichBlockCaption, RichBlockTableCell, RichText } from "grammy/types";
import { type Content, announced, familyOf, photo, text } from "./announced.ts";
import { fence, inlineCode, link, quoted, wrapped } from "./markdown.ts";

// Telegram takes 16 levels; what an update claims beyond that is not walked.
const DEPTH = 16;

type Media = Content[number][];

/** A rich message as Markdown, its media as announced files behind it. */
export function richContent(blocks: readonly RichBlock[]): Content {
  const media: Media = [];
  const words = blocksText(blocks, media, 0);
  return [...text(words), ...media];
}

function blocksText(blocks: readonly RichBlock[], media: Media, depth: number): string {
  if (depth > DEPTH) return "…";
  return blocks
    .map((block) => blockText(block, media, depth + 1))
    .filter((words) => words !== "")
    .join("\n\n");
}

function blockText(block: RichBlock, media: Media, depth: number): string {
  switch (block.type) {
    case "paragraph":
    case "footer":
    case "thinking":
      return inline(block.text);
    case "heading":
      return `${"#".repeat(block.size)} ${inline(block.text)}`;
    case "pre":
      return fence(plain(block.text), block.language);
    case "divider":
      return "---";
    case "mathematical_expression":
      return `$$\n${block.expression}\n$$`;
    case "anchor":
      return "";
    case "list":
      return block.items
        .map(({ label, blocks, has_checkbox, is_checked }) => {
          const box = has_checkbox ? `[${is_checked ? "x" : " "}] ` : "";
          const sign = /^\w+[.)]$/.test(label) ? label : "-";
          return `${sign} ${box}${blocksText(blocks, media, depth).replaceAll("\n", "\n   ")}`;
        })
        .join("\n");
    case "blockquote":
      return quoted(credited(blocksText(block.blocks, media, depth), block.credit));
    case "expandable_blockquote":
    case "pullquote":
      return quoted(credited(inline(block.text), block.credit));
    case "collage":
    case "slideshow":
      return captioned(blocksText(block.blocks, media, depth), block.caption);
    case "table":
      return [tableText(block.cells), inline(block.caption ?? "")]
        .filter((words) => words !== "")
        .join("\n\n");
    case "details":
      return `**${inline(block.summary)}**\n\n${blocksText(block.blocks, media, depth)}`;
    case "map":
      return captioned(`[location ${block.location.latitude}, ${block.location.longitude}]`, block.caption);
    case "animation":
      media.push(announced("video", block.animation, "animation"));
      return captioned("", block.caption);
    case "audio":
      media.push(announced("audio", block.audio));
      return captioned("", block.caption);
    case "document":
      media.push(announced(familyOf(block.document.mime_type), block.document));
      return captioned("", block.caption);
    case "photo":
      media.push(...photo(block.photo, "photo", "[photo, not visible]"));
      return captioned("", block.caption);
    case "video":
      media.push(announced("video", block.video));
      return captioned("", block.caption);
    case "voice_note":
      media.push(announced("audio", block.voice_note, "voice note"));
      return captioned("", block.caption);
    case "buttons":
      return block.buttons.map((button) => `[button: ${inline(button.text)}]`).join(" ");
    default:
      // Blocks of a later Bot API: told of, not passed over.
      return "[a part that I cannot read]";
  }
}

function captioned(words: string, caption: RichBlockCaption | undefined): string {
  const said = caption ? credited(inline(caption.text), caption.credit) : "";
  return [words, said].filter((part) => part !== "").join("\n");
}

function credited(words: string, credit: RichText | undefined): string {
  return credit === undefined ? words : `${words}\n— ${inline(credit)}`;
}

function tableText(rows: readonly (readonly RichBlockTableCell[])[]): string {
  const [head = [], ...body] = rows.map((row) =>
    row.map((cell) =>
      inline(cell.text ?? "")
        .replaceAll("|", "\\|")
        .replaceAll("\n", " "),
    ),
  );
  return [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** RichText is a string, an array, or an object whose text is RichText again; leaves carry other fields. */
function inline(value: RichText, depth = 0): string {
  if (typeof value === "string") return value;
  if (depth > DEPTH) return "…";
  if (Array.isArray(value)) return value.map((part) => inline(part, depth + 1)).join("");
  switch (value.type) {
    case "bold":
      return wrapped(inline(value.text, depth + 1), "**");
    case "italic":
      return wrapped(inline(value.text, depth + 1), "_");
    case "strikethrough":
      return wrapped(inline(value.text, depth + 1), "~~");
    case "code":
      return inlineCode(plain(value.text, depth + 1));
    case "url":
      return link(inline(value.text, depth + 1), value.url);
    case "custom_emoji":
      return value.alternative_text;
    case "mathematical_expression":
      return `$${value.expression}$`;
    case "anchor":
      return "";
    case "button":
      return `[button: ${inline(value.button.text, depth + 1)}]`;
    default:
      return "text" in value ? inline(value.text, depth + 1) : "";
  }
}

function plain(value: RichText, depth = 0): string {
  if (typeof value === "string") return value;
  if (depth > DEPTH) return "…";
  if (Array.isArray(value)) return value.map((part) => plain(part, depth + 1)).join("");
  return "text" in value ? plain(value.text, depth + 1) : inline(value, depth);
}
