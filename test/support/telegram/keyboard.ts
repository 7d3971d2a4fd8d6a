import type { InlineKeyboardMarkup } from "grammy/types";
import { badRequest } from "./refusal.ts";
import { string } from "./request.ts";

const BUTTON_DATA_BYTES = 64; // Bot API InlineKeyboardButton.callback_data: 1–64 bytes
// Telegram publishes neither; these are the numbers that are commonly quoted.
const BUTTONS = 100;
const MARKUP_BYTES = 10_000;

const ACTIONS = [
  ..."url callback_data web_app login_url switch_inline_query copy_text disabled".split(" "),
  ..."switch_inline_query_current_chat switch_inline_query_chosen_chat callback_game pay".split(" "),
];

export function hasInlineKeyboard(markup: unknown): markup is InlineKeyboardMarkup {
  return typeof markup === "object" && markup !== null && "inline_keyboard" in markup;
}

/** @throws Refusal for a keyboard that Telegram would not take. */
export function checkMarkup(markup: unknown): void {
  if (!hasInlineKeyboard(markup)) return;
  const rows: unknown = markup.inline_keyboard;
  if (!Array.isArray(rows) || !rows.every(Array.isArray)) {
    throw badRequest('can\'t parse inline keyboard: Field "inline_keyboard" must be of type Array');
  }
  const buttons: readonly unknown[] = rows.flat();
  if (buttons.length > BUTTONS || Buffer.byteLength(JSON.stringify(markup)) > MARKUP_BYTES) {
    throw badRequest("reply markup is too long");
  }
  for (const button of buttons) checkButton(button);
}

/** Of a keyboard or of a rich message. @throws Refusal */
export function checkButton(button: unknown): void {
  if (typeof button !== "object" || button === null) {
    throw badRequest("can't parse inline keyboard button: inline keyboard button must be an Object");
  }
  const fields = button as Readonly<Record<string, unknown>>; // an object, checked above
  if (fields["text"] === undefined || fields["text"] === "") {
    throw badRequest(`can't parse inline keyboard button: Can't find field "text"`);
  }
  if (!ACTIONS.some((action) => fields[action] !== undefined)) {
    throw badRequest("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard");
  }
  const { callback_data: data, url } = fields;
  if (data !== undefined) {
    const bytes = Buffer.byteLength(string(data));
    if (bytes < 1 || bytes > BUTTON_DATA_BYTES) throw badRequest("BUTTON_DATA_INVALID");
  }
  if (url !== undefined && !/^(?:tg:\/\/\S|(?:https?:\/\/)?[^\s/]+\.[^\s/.]+)/i.test(string(url))) {
    throw badRequest("BUTTON_URL_INVALID");
  }
}

/** Whether there is a button with this data. */
export function offers(markup: unknown, data: string): boolean {
  if (!hasInlineKeyboard(markup)) return false;
  return markup.inline_keyboard
    .flat()
    .some((button) => "callback_data" in button && button.callback_data === data);
}
