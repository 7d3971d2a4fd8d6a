import type { RichBlock, RichBlockCaption, RichText } from "grammy/types";
import { type Content, announced, familyOf, photo, text } from "./announced.ts";
import { fence, inlineCode, link, quoted, wrapped } from "./markdown.ts";
import { type Cell, tableText } from "./rich-table.ts";

// Telegram takes no more in one message (Bot API "Rich message limits"): what an update claims beyond it is not walked.
const DEPTH = 16;
const BLOCKS = 500; // with nested ones, items of lists and rows of tables
const CHARACTERS = 32_768;
const CUT = "…";

/** A rich message as Markdown, its media as announced files behind it. */
export function richContent(blocks: readonly RichBlock[]): Content {
  const walk = new Walk();
  const words = walk.blocks(blocks, 0);
  return [...text(words), ...walk.media];
}

class Walk {
  readonly media: Content[number][] = [];
  #blocksLeft = BLOCKS;
  #charactersLeft = CHARACTERS;

  blocks(blocks: readonly RichBlock[], depth: number): string {
    if (depth > DEPTH) return CUT;
    return this.#each(blocks, (block) => this.#block(block, depth + 1))
      .filter((words) => words !== "")
      .join("\n\n");
  }

  #each<Part>(parts: readonly Part[], read: (part: Part) => string): readonly string[] {
    const said: string[] = [];
    for (const part of parts) {
      if (this.#blocksLeft === 0) return [...said, CUT];
      this.#blocksLeft -= 1;
      said.push(read(part));
    }
    return said;
  }

  #block(block: RichBlock, depth: number): string {
    switch (block.type) {
      case "paragraph":
      case "footer":
      case "thinking":
        return this.#inline(block.text);
      case "heading":
        return `${"#".repeat(block.size)} ${this.#inline(block.text)}`;
      case "pre":
        return fence(this.#plain(block.text), block.language);
      case "divider":
        return "---";
      case "mathematical_expression":
        return `$$\n${this.#words(block.expression)}\n$$`;
      case "anchor":
        return "";
      case "list":
        return this.#each(block.items, ({ label, blocks, has_checkbox, is_checked }) => {
          const box = has_checkbox ? `[${is_checked ? "x" : " "}] ` : "";
          const sign = /^\w+[.)]$/.test(label) ? label : "-";
          return `${sign} ${box}${this.blocks(blocks, depth).replaceAll("\n", "\n   ")}`;
        }).join("\n");
      case "blockquote":
        return quoted(this.#credited(this.blocks(block.blocks, depth), block.credit));
      case "expandable_blockquote":
      case "pullquote":
        return quoted(this.#credited(this.#inline(block.text), block.credit));
      case "collage":
      case "slideshow":
        return this.#captioned(this.blocks(block.blocks, depth), block.caption);
      case "table":
        return [tableText(this.#rows(block.cells)), this.#inline(block.caption ?? "")]
          .filter((words) => words !== "")
          .join("\n\n");
      case "details":
        return `**${this.#inline(block.summary)}**\n\n${this.blocks(block.blocks, depth)}`;
      case "map":
        return this.#captioned(
          `[location ${block.location.latitude}, ${block.location.longitude}]`,
          block.caption,
        );
      case "animation":
        return this.#file([announced("video", block.animation, "animation")], block.caption);
      case "audio":
        return this.#file([announced("audio", block.audio)], block.caption);
      case "document":
        return this.#file([announced(familyOf(block.document.mime_type), block.document)], block.caption);
      case "photo":
        return this.#file(photo(block.photo, "photo", "[photo, not visible]"), block.caption);
      case "video":
        return this.#file([announced("video", block.video)], block.caption);
      case "voice_note":
        return this.#file([announced("audio", block.voice_note, "voice note")], block.caption);
      case "buttons":
        return block.buttons.map((button) => `[button: ${this.#inline(button.text)}]`).join(" ");
      default:
        // Blocks of a later Bot API: told of, not passed over.
        return "[a part that I cannot read]";
    }
  }

  #rows(rows: Extract<RichBlock, { type: "table" }>["cells"]): readonly (readonly Cell[])[] {
    const within = rows.slice(0, this.#blocksLeft);
    this.#blocksLeft -= within.length;
    return within.map((cells) =>
      cells.map(({ text: words = "", colspan = 1, rowspan = 1 }) => ({
        words: this.#inline(words),
        columns: colspan,
        rows: rowspan,
      })),
    );
  }

  #file(media: Content, caption: RichBlockCaption | undefined): string {
    this.media.push(...media);
    return this.#captioned("", caption);
  }

  #captioned(words: string, caption: RichBlockCaption | undefined): string {
    const said = caption ? this.#credited(this.#inline(caption.text), caption.credit) : "";
    return [words, said].filter((part) => part !== "").join("\n");
  }

  #credited(words: string, credit: RichText | undefined): string {
    return credit === undefined ? words : `${words}\n— ${this.#inline(credit)}`;
  }

  /** RichText is a string, an array, or an object whose text is RichText again; leaves carry other fields. */
  #inline(value: RichText, depth = 0): string {
    if (typeof value === "string") return this.#words(value);
    if (depth > DEPTH) return CUT;
    if (Array.isArray(value)) return value.map((part) => this.#inline(part, depth + 1)).join("");
    switch (value.type) {
      case "bold":
        return wrapped(this.#inline(value.text, depth + 1), "**");
      case "italic":
        return wrapped(this.#inline(value.text, depth + 1), "_");
      case "strikethrough":
        return wrapped(this.#inline(value.text, depth + 1), "~~");
      case "code":
        return inlineCode(this.#plain(value.text, depth + 1));
      case "url":
        return link(this.#inline(value.text, depth + 1), value.url);
      case "custom_emoji":
        return this.#words(value.alternative_text);
      case "mathematical_expression":
        return `$${this.#words(value.expression)}$`;
      case "anchor":
        return "";
      case "button":
        return `[button: ${this.#inline(value.button.text, depth + 1)}]`;
      default:
        return "text" in value ? this.#inline(value.text, depth + 1) : "";
    }
  }

  #plain(value: RichText, depth = 0): string {
    if (typeof value === "string") return this.#words(value);
    if (depth > DEPTH) return CUT;
    if (Array.isArray(value)) return value.map((part) => this.#plain(part, depth + 1)).join("");
    return "text" in value ? this.#plain(value.text, depth + 1) : this.#inline(value, depth);
  }

  #words(words: string): string {
    const within = words.slice(0, this.#charactersLeft);
    if (words.length > this.#charactersLeft && this.#charactersLeft > 0) {
      this.#charactersLeft = 0;
      return `${within.toWellFormed()}${CUT}`;
    }
    this.#charactersLeft -= within.length;
    return within;
  }
}
