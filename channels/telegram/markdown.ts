import type { MessageEntity } from "grammy/types";

/**
 * Text and its entities as Markdown, so that links, code and quotes reach the agent. What was typed stays as typed:
 * signs that look like markup are not escaped, for it is read by a model and by the commands, never rendered.
 * `username` is ours: the suffix that clients put behind a command for us is taken off.
 */
export function toMarkdown(text: string, entities: readonly MessageEntity[] = [], username?: string): string {
  const ordered = entities
    .filter(({ offset, length }) => offset >= 0 && length > 0 && offset + length <= text.length)
    .toSorted((one, other) => one.offset - other.offset || other.length - one.length);
  return write({ text, username }, 0, text.length, ordered);
}

/** A code fence that neither its content nor the name of a language can close; what is no such name is left out. */
export function fence(code: string, language = ""): string {
  const ticks = "`".repeat(Math.max(3, longestRun(code) + 1));
  return `${ticks}${LANGUAGE.test(language) ? language : ""}\n${code.replace(/\n$/, "")}\n${ticks}`;
}

const LANGUAGE = /^[\w+#.-]{1,40}$/;

export function inlineCode(code: string): string {
  const ticks = "`".repeat(longestRun(code) + 1);
  const pad = code.startsWith("`") || code.endsWith("`") ? " " : "";
  return `${ticks}${pad}${code}${pad}${ticks}`;
}

export function quoted(text: string): string {
  return text.replaceAll(/^/gm, "> ");
}

export function link(words: string, url: string): string {
  return words === url ? url : `[${words}](${url.replaceAll(/[\s()<>]/g, percent)})`;
}

function percent(sign: string): string {
  if (sign > "~") return encodeURIComponent(sign);
  return `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** `sign` on both sides of the words; blanks at their ends stay outside, where Markdown wants them. */
export function wrapped(words: string, sign: string): string {
  const inner = words.trim();
  const start = words.indexOf(inner);
  return inner === ""
    ? words
    : `${words.slice(0, start)}${sign}${inner}${sign}${words.slice(start + inner.length)}`;
}

type Source = { readonly text: string; readonly username: string | undefined };

function write(source: Source, from: number, to: number, entities: readonly MessageEntity[]): string {
  let out = "";
  let at = from;
  let rest = entities;
  for (let [entity] = rest; entity; [entity] = rest) {
    const start = Math.max(entity.offset, at);
    const end = Math.min(entity.offset + entity.length, to);
    rest = rest.slice(1);
    if (end <= start) continue;
    const inside = rest.filter(({ offset }) => offset < end);
    rest = rest.filter(({ offset }) => offset >= end);
    out += source.text.slice(at, start);
    const dressed = dress(entity, source.text.slice(start, end), write(source, start, end, inside), source);
    if (isBlock(entity)) {
      if (out !== "" && !out.endsWith("\n")) out += "\n";
      out += dressed;
      if (end < to && source.text[end] !== "\n") out += "\n";
    } else out += dressed;
    at = end;
  }
  return out + source.text.slice(at, to);
}

function isBlock({ type }: MessageEntity): boolean {
  return type === "pre" || type === "blockquote" || type === "expandable_blockquote";
}

function dress(entity: MessageEntity, raw: string, inside: string, { username }: Source): string {
  switch (entity.type) {
    case "bold":
      return wrapped(inside, "**");
    case "italic":
      return wrapped(inside, "_");
    case "strikethrough":
      return wrapped(inside, "~~");
    case "code":
      return inlineCode(raw);
    case "pre":
      return fence(raw, entity.language);
    case "text_link":
      return link(inside, entity.url);
    case "blockquote":
    case "expandable_blockquote":
      return quoted(inside.replace(/\n+$/, ""));
    case "bot_command": {
      const [command = "", bot] = raw.split("@");
      return bot !== undefined && isSame(bot, username) ? command : raw;
    }
    default:
      // Names, tags, addresses and the rest say in the text itself what they are; new kinds may come at any time.
      return inside;
  }
}

/** Names of bots do not tell capitals from small letters. */
export function isSame(name: string, username: string | undefined): boolean {
  return username !== undefined && name.toLowerCase() === username.toLowerCase();
}

function longestRun(text: string): number {
  return Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
}
