import type { RichBlock, RichMessage } from "grammy/types";
import { badRequest } from "../refusal.ts";
import { flag } from "../request.ts";
import { readBlocks, type BlockContext } from "./blocks.ts";
import { Tally } from "./tally.ts";
import { plainText } from "./text.ts";

/** A rich message as the server took it. */
export type RichContent = {
  /** The parameter as the bot sent it. */
  readonly given: unknown;
  /** As the message shows it. */
  readonly message: RichMessage;
  /** The words of its blocks, a line for each. */
  readonly text: string;
  /** It came as html or markdown, which only Telegram itself can read: kept as it is, nothing but its length checked. */
  readonly unverifiable: boolean;
};

type Context = Omit<BlockContext, "tally"> & { readonly takesMarkup: boolean };

/** @throws Refusal where TDLib, or a limit that the docs give, refuses it. */
export function readRichMessage(given: unknown, context: Context): RichContent {
  if (typeof given !== "object" || given === null) throw badRequest("rich message must be non-empty");
  const { blocks, html, markdown, is_rtl } = given as Readonly<Record<string, unknown>>; // an object, checked above
  const sources = [blocks, html, markdown].filter((source) => source !== undefined);
  if (sources.length !== 1) {
    throw badRequest(
      sources.length === 0
        ? "rich message must be non-empty"
        : "emulator: exactly one of blocks, html and markdown must be given",
    );
  }
  const tally = new Tally();
  const read =
    blocks === undefined
      ? readMarkup(sources[0], context, tally)
      : readBlocks(blocks, 1, { ...context, tally });
  if (read.length === 0) throw badRequest("rich message must be non-empty");
  tally.check();
  return {
    given,
    message: { blocks: read, ...(flag(is_rtl) && { is_rtl: true }) },
    text: plainOf({ blocks: read }),
    unverifiable: blocks === undefined,
  };
}

function readMarkup(source: unknown, { takesMarkup }: Context, tally: Tally): RichBlock[] {
  if (!takesMarkup)
    throw badRequest("emulator: rich messages as html or markdown cannot be checked; use blocks");
  if (typeof source !== "string") throw badRequest("rich message must be non-empty");
  tally.text(source);
  return [{ type: "paragraph", text: source }];
}

/** The words of all blocks, a line for each. */
export function plainOf(message: RichMessage): string;
export function plainOf(message: RichMessage | undefined): string | undefined;
export function plainOf(message: RichMessage | undefined): string | undefined {
  return message?.blocks.map(wordsOf).join("\n");
}

// What is to be read in a block, without any marks.
function wordsOf(block: RichBlock): string {
  switch (block.type) {
    case "paragraph":
    case "heading":
    case "pre":
    case "footer":
    case "pullquote":
    case "expandable_blockquote":
    case "thinking":
      return plainText(block.text);
    case "mathematical_expression":
      return block.expression;
    case "list":
      return block.items.map(({ label, blocks }) => `${label} ${blocks.map(wordsOf).join("\n")}`).join("\n");
    case "blockquote":
      return block.blocks.map(wordsOf).join("\n");
    case "details":
      return [plainText(block.summary), ...block.blocks.map(wordsOf)].join("\n");
    case "table":
      return block.cells.map((row) => row.map((cell) => plainText(cell.text)).join(" | ")).join("\n");
    case "buttons":
      return block.buttons.map((button) => plainText(button.text)).join(" ");
    case "divider":
    case "anchor":
      return "";
    case "collage":
    case "slideshow":
    case "map":
    case "photo":
    case "video":
    case "animation":
    case "audio":
    case "voice_note":
    case "document":
      return plainText(block.caption?.text);
  }
}
