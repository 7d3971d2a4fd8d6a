import type { MessageEntity } from "grammy/types";
import { fixEntities, userEntities, withinHundred } from "./entities.ts";
import { badRequest } from "./refusal.ts";

export type FormattedText = { readonly text: string; readonly entities: readonly MessageEntity[] };

const TEXT_LENGTH = 4096; // Bot API sendMessage: 1–4096 after entities parsing
const CAPTION_LENGTH = 1024; // Bot API sendPhoto: 0–1024 after entities parsing
const ENTITIES_BYTES = 9_500; // tdlib/telegram-bot-api#820, #165: about what the core servers take
const RAW_TEXT_BYTES = 32_768; // telegram-bot-api: a longer `text` parameter is refused before anything is parsed

// Characters that Telegram takes for nothing: with only these a message is empty.
const VISIBLE = /[^\n \u00a0\u200b-\u200f\ufeff\u2000-\u200a\u2800\u3000\ufffc\u{e0000}-\u{e007f}]/u;

/** A message's text as the server keeps it. @throws Refusal where Telegram answers 400. */
export function messageText(text: unknown, entities: unknown): FormattedText {
  if (typeof text !== "string" || text === "") throw badRequest("message text is empty");
  if (Buffer.byteLength(text) > RAW_TEXT_BYTES) throw badRequest("text is too long");
  const fixed = formattedText(text, entities);
  if (!VISIBLE.test(fixed.text)) throw badRequest("text must be non-empty");
  if (codePoints(fixed.text) > TEXT_LENGTH) throw badRequest("message is too long");
  return fixed;
}

/** A draft's text: as a message's, but it may be empty, which shows "Thinking…". */
export function draftText(text: unknown, entities: unknown): FormattedText {
  return text === undefined || text === "" ? { text: "", entities: [] } : messageText(text, entities);
}

/** A caption, which may be absent or show nothing. */
export function captionText(caption: unknown, entities: unknown): FormattedText | undefined {
  if (typeof caption !== "string" || caption === "") return undefined;
  const fixed = formattedText(caption, entities);
  if (codePoints(fixed.text) > CAPTION_LENGTH) throw badRequest("message caption is too long");
  return VISIBLE.test(fixed.text) ? fixed : undefined;
}

function formattedText(text: string, given: unknown): FormattedText {
  if (/\p{Surrogate}/u.test(text)) throw badRequest("strings must be encoded in UTF-8");
  const cleaned = clean(text, fixEntities(userEntities(given)));
  const kept = fixEntities(cleaned.entities.flatMap((entity) => withoutLeadingSpace(entity, cleaned.text)));
  const shown = withinHundred(kept);
  if (serializedBytes(shown) > ENTITIES_BYTES) throw badRequest("ENTITIES_TOO_LONG");
  return trim(cleaned.text, shown);
}

// As the core servers are sent them: kind, offset and length of 4 bytes each, then an address or a language.
function serializedBytes(entities: readonly MessageEntity[]): number {
  return entities.reduce((sum, entity) => {
    const more =
      entity.type === "text_link" ? entity.url : entity.type === "pre" ? (entity.language ?? "") : "";
    return sum + 12 + Buffer.byteLength(more);
  }, 0);
}

/** Removes and replaces what the server does, and moves the entities along. */
function clean(text: string, entities: readonly MessageEntity[]): FormattedText {
  checkEnds(text, entities);
  // movedTo[i] is where the unit i of the old text begins in the new one.
  const movedTo: number[] = [];
  let result = "";
  for (const unit of text.split("")) {
    movedTo.push(result.length);
    const code = unit.charCodeAt(0);
    if (unit === "\n") result += unit;
    else if (unit === "\r" || isDeleted(code)) continue;
    else result += code < 0x20 ? " " : unit;
  }
  movedTo.push(result.length);
  // In a run of direction marks only the last keeps its meaning.
  result = result.replaceAll(/[\u200e\u200f]+(?=[\u200e\u200f])/g, (run) => "\u200c".repeat(run.length));
  const moved = entities.map((entity) => {
    const start = movedTo[entity.offset]!; // checkEnds: within the text
    return { ...entity, offset: start, length: movedTo[entity.offset + entity.length]! - start };
  });
  return { text: result, entities: moved.filter((entity) => entity.length > 0) };
}

// Combining lines and rings that cover other lines, and U+2028–U+202E: separators and bidi embeddings.
function isDeleted(code: number): boolean {
  return [0x333, 0x33f, 0x30a].includes(code) || (code >= 0x2028 && code <= 0x202e);
}

function checkEnds(text: string, entities: readonly MessageEntity[]): void {
  for (const { offset, length } of entities) {
    const end = offset + length;
    if (offset > text.length) {
      throw badRequest(`entity begins after the end of the text at UTF-16 offset ${offset}`);
    }
    if (splitsPair(text, offset)) {
      throw badRequest(
        `entity begins in a middle of a UTF-16 symbol at byte offset ${byteOffset(text, offset + 1)}`,
      );
    }
    if (end > text.length) {
      throw badRequest(
        `entity beginning at UTF-16 offset ${offset} ends after the end of the text at UTF-16 offset ${end}`,
      );
    }
    if (splitsPair(text, end)) {
      throw badRequest(
        `entity beginning at UTF-16 offset ${offset} ends in a middle of a UTF-16 symbol at byte offset ${byteOffset(text, end + 1)}`,
      );
    }
  }
}

function splitsPair(text: string, index: number): boolean {
  return /^[\udc00-\udfff]/.test(text.slice(index, index + 1)) && index > 0;
}

function byteOffset(text: string, index: number): number {
  return Buffer.byteLength(text.slice(0, index));
}

/** An entity starts at its first visible character; over nothing but blanks it goes away. */
function withoutLeadingSpace(entity: MessageEntity, text: string): readonly MessageEntity[] {
  const covered = text.slice(entity.offset, entity.offset + entity.length);
  const blanks = covered.length - covered.replace(/^[ \n]+/, "").length;
  if (blanks === covered.length) return [];
  return [{ ...entity, offset: entity.offset + blanks, length: entity.length - blanks }];
}

function trim(text: string, entities: readonly MessageEntity[]): FormattedText {
  const end = text.replace(/[ \n]+$/, "").length;
  const start = text.length - text.replace(/^[ \n]+/, "").length;
  if (end === 0) return { text: "", entities: [] };
  return {
    text: text.slice(start, end),
    entities: entities.map((entity) => ({
      ...entity,
      offset: entity.offset - start,
      length: Math.min(entity.length, end - entity.offset),
    })),
  };
}

// TDLib counts code points, not the UTF-16 units that its offsets are in.
function codePoints(text: string): number {
  return Array.from(text).length;
}
