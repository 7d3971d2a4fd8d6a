import type { InlineKeyboardMarkup } from "grammy/types";
import type { Choice } from "../../src/core/channel.ts";
import { shortened } from "../../src/core/words.ts";
import { clean } from "./normalise.ts";

/** UTF-16 units of a label; what is longer no phone shows in a line. */
const LABEL_LENGTH = 64;
/** So many units of labels stand readable beside each other on a phone. */
const ROW_LENGTH = 28;
const ROW_BUTTONS = 4;

/** The buttons below a question, in their order; short ones stand beside each other. */
export function keyboardOf(choices: readonly Choice[]): InlineKeyboardMarkup {
  const rows: { text: string; callback_data: string }[][] = [];
  let room = 0;
  for (const { label, key } of choices) {
    const text = labelOf(label);
    const row = rows.at(-1);
    if (row && text.length <= room && row.length < ROW_BUTTONS) row.push({ text, callback_data: key });
    else {
      rows.push([{ text, callback_data: key }]);
      room = ROW_LENGTH;
    }
    room -= text.length;
  }
  return { inline_keyboard: rows };
}

/** The same for somebody without buttons, who may answer in words. */
export function listOf(choices: readonly Choice[]): string {
  return choices.map(({ label }) => `\n• ${labelOf(label)}`).join("");
}

function labelOf(label: string): string {
  return shortened(clean(label).replaceAll(/\s+/g, " ").trim(), LABEL_LENGTH);
}
