import type { Choice } from "../../../src/core/channel.ts";
import { shortened } from "../../../src/core/words.ts";
import { MOST_ROWS } from "./limits.ts";

// Cloud API, interactive messages.
const MOST_BUTTONS = 3;
const BUTTON_LENGTH = 20;
const BUTTONS_TEXT_LENGTH = 1_024;
const ROW_LENGTH = 24;
const ROW_MORE_LENGTH = 72;
const TEXT_LENGTH = 4_096; // of a list's body, and of a plain text

/** What stands on the button that opens a list. */
const OPEN_LIST = "Choose";

/**
 * A question with what can be pressed: up to three short labels as buttons; else as a list, whose rows show a label that
 * is too long for one line below its beginning; undefined where neither fits, and the choices have to be written out.
 */
export function interactiveOf(text: string, choices: readonly Choice[]): object | undefined {
  const areShort = choices.every(({ label }) => label.length <= BUTTON_LENGTH);
  if (choices.length <= MOST_BUTTONS && areShort && text.length <= BUTTONS_TEXT_LENGTH)
    return {
      type: "button",
      body: { text },
      action: {
        buttons: choices.map(({ key, label }) => ({ type: "reply", reply: { id: key, title: label } })),
      },
    };
  const fits = choices.every(({ label }) => label.length <= ROW_MORE_LENGTH);
  if (choices.length > MOST_ROWS || !fits || text.length > TEXT_LENGTH) return undefined;
  return {
    type: "list",
    body: { text },
    action: { button: OPEN_LIST, sections: [{ rows: choices.map(row) }] },
  };
}

function row({ key, label }: Choice) {
  return label.length <= ROW_LENGTH
    ? { id: key, title: label }
    : { id: key, title: shortened(label, ROW_LENGTH), description: label };
}

/** The text with its choices numbered below it, for whoever cannot press them; without where they leave it no room. */
export function writtenOut(text: string, choices: readonly Choice[]): string {
  const list = choices.map(({ label }, at) => `${at + 1}. ${label}`).join("\n");
  const all = `${text}\n\n${list}`;
  return all.length <= TEXT_LENGTH ? all : text;
}
