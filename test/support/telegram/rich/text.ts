import type { RichText } from "grammy/types";
import { checkButton } from "../keyboard.ts";
import { badRequest } from "../refusal.ts";
import type { Tally } from "./tally.ts";

/** The fields that a kind of text must have, beside the text in it. */
const AROUND: Readonly<Record<string, readonly string[]>> = {
  ...kinds("bold italic underline strikethrough spoiler subscript superscript marked code"),
  date_time: ["unix_time", "date_time_format"],
  text_mention: ["user"],
  url: ["url"],
  email_address: ["email_address"],
  phone_number: ["phone_number"],
  anchor_link: ["anchor_name"],
  reference: ["name"],
  reference_link: ["reference_name"],
};

/** Telegram finds these by itself, and takes no more than the text of what a bot marks so. */
const FOUND = kinds("bank_card_number mention hashtag cashtag bot_command");

/** Kinds with no text in them, and the field that is shown. */
const LEAVES: Readonly<Record<string, { readonly fields: readonly string[]; readonly shows?: string }>> = {
  custom_emoji: { fields: ["custom_emoji_id", "alternative_text"], shows: "alternative_text" },
  mathematical_expression: { fields: ["expression"], shows: "expression" },
  anchor: { fields: ["name"] },
};

type Fields = Readonly<Record<string, unknown>>;

/** Reads a RichText as TDLib does, at its level of nesting. Absent text is empty. @throws Refusal */
export function readText(value: unknown, level: number, tally: Tally): RichText {
  tally.depth(level);
  if (value === undefined || value === null) return "";
  if (typeof value === "string") {
    tally.text(value);
    return value;
  }
  if (Array.isArray(value)) return value.map((part) => readText(part, level, tally));
  if (typeof value !== "object") throw badRequest("invalid rich text specified");
  return readMarked(value as Fields, level, tally); // an object, checked above
}

function readMarked(value: Fields, level: number, tally: Tally): RichText {
  const type = value["type"];
  if (typeof type !== "string" || type === "") throw missing("type");
  if (type in FOUND) return readText(value["text"], level, tally);
  if (type === "button") return readButton(value, level, tally);
  const leaf = LEAVES[type];
  const fields = leaf?.fields ?? AROUND[type];
  if (!fields) throw badRequest("unsupported rich text type");
  for (const field of fields) if (value[field] === undefined) throw missing(field);
  if (leaf?.shows !== undefined) tally.text(String(value[leaf.shows]));
  const text = leaf ? {} : { text: readText(value["text"], level + 1, tally) };
  const kept = Object.fromEntries(["type", ...fields].map((field) => [field, value[field]]));
  // Of the kind that `type` names: it has that kind's fields, and no others.
  return { ...kept, ...text } as unknown as RichText;
}

function readButton(value: Fields, level: number, tally: Tally): RichText {
  const button = value["button"];
  checkButton(button);
  const read = button as Fields; // checkButton: an object
  return {
    type: "button",
    // Its action is one of a keyboard's; which one makes no difference here.
    button: { ...read, text: readText(read["text"], level + 1, tally) } as never,
  };
}

/** What is to be read of it, without any marks. */
export function plainText(text: RichText | undefined): string {
  if (text === undefined || typeof text === "string") return text ?? "";
  if (Array.isArray(text)) return text.map(plainText).join("");
  switch (text.type) {
    case "custom_emoji":
      return text.alternative_text;
    case "mathematical_expression":
      return text.expression;
    case "anchor":
      return "";
    case "button":
      return plainText(text.button.text);
    default:
      return plainText(text.text);
  }
}

function kinds(names: string): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(names.split(" ").map((name) => [name, []]));
}

function missing(field: string): Error {
  return badRequest(`can't parse RichText: Can't find field "${field}"`);
}
