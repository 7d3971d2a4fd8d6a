import type { RichBlock, RichBlockCaption, RichBlockListItem, RichBlockTableCell } from "grammy/types";
import { checkButton } from "../keyboard.ts";
import { badRequest } from "../refusal.ts";
import { flag, integer, string } from "../request.ts";
import { labelOf } from "./labels.ts";
import type { Tally } from "./tally.ts";
import { readText } from "./text.ts";

type Fields = Readonly<Record<string, unknown>>;

export type MediaBlock = "photo" | "video" | "animation" | "audio" | "voice_note" | "document";

export type BlockContext = {
  readonly tally: Tally;
  /** "thinking" stands in drafts only. */
  readonly inDraft: boolean;
  /** The file of a block as a message keeps it. @throws Refusal */
  readonly media: (kind: MediaBlock, input: Fields) => unknown;
};

const MAP_SIDES = 10_000; // Bot API InputRichBlockMap: width and height together
const MAP_RATIO = 20;
const MAP_ZOOM = 24;
const BUTTONS_IN_ROW = 8;

/** Reads a list of InputRichBlock as TDLib does, at its level of nesting. @throws Refusal */
export function readBlocks(value: unknown, level: number, context: BlockContext): RichBlock[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw badRequest("can't parse InputRichBlock: expected an Array");
  return value.map((block) => {
    context.tally.block();
    context.tally.depth(level);
    if (block === null) throw badRequest("block must be non-empty");
    const fields = objectOf(block, "object expected as InputRichMessageBlock");
    const type = fields["type"];
    if (typeof type !== "string" || type === "") throw missing("type");
    // Each reader gives the fields of the block that `type` names.
    return { type, ...readBlock(type, fields, level, context) } as unknown as RichBlock;
  });
}

function readBlock(type: string, fields: Fields, level: number, context: BlockContext): object {
  const { tally } = context;
  const text = (name: string) => readText(required(fields, name), level, tally);
  const optional = (name: string) =>
    fields[name] === undefined ? {} : { [name]: readText(fields[name], level, tally) };
  const blocks = () => readBlocks(required(fields, "blocks"), level + 1, context);
  switch (type) {
    case "paragraph":
    case "footer":
      return { text: text("text") };
    case "thinking":
      if (!context.inDraft) throw badRequest("block is not allowed");
      return { text: text("text") };
    case "heading":
      return { text: text("text"), size: headingSize(fields["size"]) };
    case "pre":
      return { text: text("text"), ...kept(fields, ["language"]) };
    case "divider":
      return {};
    case "mathematical_expression":
      tally.text(String(required(fields, "expression")));
      return kept(fields, ["expression"]);
    case "anchor":
      return { name: required(fields, "name") };
    case "list":
      return { items: readItems(fields["items"], level, context) };
    case "blockquote":
      return { blocks: blocks(), ...optional("credit") };
    case "expandable_blockquote":
    case "pullquote":
      return { text: text("text"), ...optional("credit") };
    case "collage":
    case "slideshow":
      return { blocks: readMediaBlocks(blocks()), ...readCaption(fields["caption"], level, tally) };
    case "table":
      return {
        cells: readCells(fields["cells"], level, tally),
        ...kept(fields, ["is_bordered", "is_striped", "is_compact"]),
        ...optional("caption"),
      };
    case "details": {
      const inner = blocks();
      if (inner.length === 0) throw badRequest("RICH_MESSAGE_EMPTY"); // from the field, not from public code
      return { summary: text("summary"), blocks: inner, ...kept(fields, ["is_open"]) };
    }
    case "map":
      tally.media();
      return { ...readMap(fields), ...readCaption(fields["caption"], level, tally) };
    case "buttons":
      return { buttons: readButtons(fields["buttons"], level, tally), ...kept(fields, ["align"]) };
    case "photo":
    case "video":
    case "animation":
    case "audio":
    case "voice_note":
    case "document":
      return readMedia(type, fields, level, context);
    default:
      throw badRequest(`type "${type}" is unsupported`);
  }
}

function headingSize(size: unknown): number {
  const number = integer(size) ?? 0;
  if (number < 1 || number > 6) throw badRequest("invalid section heading size specified");
  return number;
}

function readItems(value: unknown, level: number, context: BlockContext): RichBlockListItem[] {
  if (!Array.isArray(value) || value.length === 0) throw badRequest("list must be non-empty");
  const types = new Set<boolean>();
  const items = value.map((item) => {
    context.tally.block();
    if (item === null) throw badRequest("list item must be non-empty");
    const fields = objectOf(item, "object expected as InputRichBlockListItem");
    const type = string(fields["type"]);
    if (!["", "a", "A", "i", "I", "1"].includes(type)) {
      throw badRequest("invalid list item type specified");
    }
    types.add(type === "");
    const number = integer(fields["value"]) ?? 0; // TDLib counts no items: without a value all are number 0
    const label = labelOf(type, number);
    const blocks = readBlocks(fields["blocks"], level + 1, context);
    const order = type === "" ? {} : { value: number, type };
    // An item with its label, whose type is one of the five.
    return { label, blocks, ...kept(fields, ["has_checkbox", "is_checked"]), ...order } as RichBlockListItem;
  });
  if (types.size > 1) throw badRequest("list must be either ordered or unordered");
  return items;
}

function readCells(value: unknown, level: number, tally: Tally): RichBlockTableCell[][] {
  if (!Array.isArray(value)) throw missing("cells");
  return value.map((row: unknown) => {
    tally.block();
    if (!Array.isArray(row)) throw badRequest("can't parse PageBlockTableCell: expected an Array");
    const cells = row.map((cell) => readCell(cell, level, tally));
    tally.columns(cells.reduce((sum, cell) => sum + (cell.colspan ?? 1), 0));
    return cells;
  });
}

function readCell(cell: unknown, level: number, tally: Tally): RichBlockTableCell {
  if (cell === null) throw badRequest("table cell must be non-empty");
  const fields = objectOf(cell, "richBlockTableCell must be an object");
  const isHeader = flag(fields["is_header"]);
  const align = fields["align"] ?? (isHeader ? "center" : "left");
  const valign = fields["valign"] ?? "middle";
  if (!["left", "center", "right"].includes(string(align))) {
    throw badRequest("invalid horizontal alignment specified");
  }
  if (!["top", "middle", "bottom"].includes(string(valign))) {
    throw badRequest("invalid vertical alignment specified");
  }
  const read = { align, valign, ...(isHeader && { is_header: true }) };
  const text = fields["text"] === undefined ? {} : { text: readText(fields["text"], level, tally) };
  // Both alignments were looked at above.
  return { ...text, ...read, ...span(fields, "colspan"), ...span(fields, "rowspan") } as RichBlockTableCell;
}

function span(fields: Fields, name: "colspan" | "rowspan"): object {
  const count = integer(fields[name]) ?? 1;
  if (count < 0) throw badRequest(`invalid table cell ${name} specified`);
  return count > 1 ? { [name]: count } : {};
}

function readMap(fields: Fields): object {
  const { latitude, longitude } = objectOf(required(fields, "location"), "invalid location specified");
  const isOnEarth = Math.abs(Number(latitude)) <= 90 && Math.abs(Number(longitude)) <= 180;
  if (!isOnEarth) throw badRequest("invalid location specified");
  const [zoom = 0, width = 0, height = 0] = ["zoom", "width", "height"].map(
    (name) => integer(fields[name]) ?? 0,
  );
  const fits = zoom >= 0 && zoom <= MAP_ZOOM && width >= 0 && height >= 0 && width + height <= MAP_SIDES;
  if (!fits || width > height * MAP_RATIO || height > width * MAP_RATIO) {
    throw badRequest("invalid map properties specified");
  }
  return { location: { latitude, longitude }, zoom, width, height };
}

function readButtons(value: unknown, level: number, tally: Tally): object[] {
  if (!Array.isArray(value) || value.length === 0) throw badRequest("button row must be non-empty");
  if (value.length > BUTTONS_IN_ROW) throw badRequest("emulator: a row has at most 8 buttons");
  return value.map((button: unknown) => {
    checkButton(button);
    const fields = button as Fields; // checkButton: an object
    return { ...fields, text: readText(fields["text"], level + 1, tally) };
  });
}

function readMedia(kind: MediaBlock, fields: Fields, level: number, context: BlockContext): object {
  context.tally.media();
  const input = objectOf(required(fields, kind), `can't parse InputRichBlock: Can't find field "${kind}"`);
  // The object in the block needs a type of its own.
  if (input["type"] === undefined) throw missing("type");
  if (input["type"] !== kind) throw badRequest("unallowed media specified");
  return {
    [kind]: context.media(kind, input),
    ...kept(input, ["has_spoiler"]),
    ...readCaption(fields["caption"], level, context.tally),
  };
}

function readMediaBlocks(blocks: RichBlock[]): RichBlock[] {
  if (!blocks.every(({ type }) => type === "photo" || type === "video" || type === "animation"))
    throw badRequest("unallowed media specified");
  return blocks;
}

function readCaption(value: unknown, level: number, tally: Tally): { caption?: RichBlockCaption } {
  if (value === undefined) return {};
  const { text, credit } = objectOf(value, "richBlockCaption must be an object");
  return {
    caption: {
      text: readText(text, level, tally),
      ...(credit !== undefined && { credit: readText(credit, level, tally) }),
    },
  };
}

/** Those of the fields that are there and not false. */
function kept(fields: Fields, names: readonly string[]): object {
  const set = names.filter((name) => ![undefined, false, ""].includes(fields[name] as undefined)); // any value will do
  return Object.fromEntries(set.map((name) => [name, fields[name]]));
}

function required(fields: Fields, name: string): unknown {
  if (fields[name] === undefined) throw missing(name);
  return fields[name];
}

function objectOf(value: unknown, otherwise: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw badRequest(otherwise);
  return value as Fields; // checked above
}

function missing(field: string): Error {
  return badRequest(`can't parse InputRichBlock: Can't find field "${field}"`);
}
