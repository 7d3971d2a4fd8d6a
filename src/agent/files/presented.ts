import { basename } from "node:path";
import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { givenIn } from "../messages.ts";

export const PRESENT = "present_files";

/** A path below /outputs as the thread names it, "/outputs/prices.csv"; undefined where it is none. */
export function outputPath(asked: string): string | undefined {
  const parts = asked
    .replace(/^sandbox:/i, "")
    .split("/")
    .filter((part) => part !== "" && part !== ".");
  if (parts.length < 2 || parts[0] !== "outputs" || parts.includes("..") || /\p{Cc}/u.test(asked))
    return undefined;
  return `/${parts.join("/")}`;
}

const SENT = "Sent with your answer: ";

/** How a result says what will be sent; `presentedIn` reads it again. */
export function sentWords(paths: readonly string[]): string {
  return `${SENT}${JSON.stringify(paths)}`;
}

/**
 * The answer with a reference to each file that was presented in its turn and that it does not name itself. It is read from
 * the turn's messages, so that it is the same when an answer that stands in the thread is given again.
 */
export function withPresented(markdown: string, turn: readonly BaseMessage[]): string {
  const presented = presentedIn(turn);
  if (presented.length === 0) return markdown;
  const named = new Set(referencesIn(markdown));
  const missing = presented.filter((path) => !named.has(path));
  return [markdown.trimEnd(), ...missing.map(reference)].filter((part) => part !== "").join("\n\n");
}

/** Paths as the thread names them, in the order in which they were presented. */
export function presentedIn(turn: readonly BaseMessage[]): readonly string[] {
  const paths = turn.flatMap((message) => {
    const earlier = givenIn(message);
    if (earlier) return earlier.presented;
    const ours = ToolMessage.isInstance(message) && message.name === PRESENT && message.status !== "error";
    const [first = ""] = ours ? message.text.split("\n") : [];
    if (!first.startsWith(SENT)) return [];
    try {
      const read: unknown = JSON.parse(first.slice(SENT.length));
      return Array.isArray(read) ? read.flatMap((path) => outputPath(String(path)) ?? []) : [];
    } catch {
      return []; // an operator's own tool of this name
    }
  });
  return [...new Set(paths)];
}

/** A file's name as the caption, its path as the address; nothing in either ends it, or is read as Markdown. */
function reference(path: string): string {
  const alt = basename(path).replaceAll(/[!-/:-@[-`{-~]/g, "\\$&");
  // As it is: of a file "a%20b" a decoded address would be another one's.
  const address = path.replaceAll("&", "&amp;").replaceAll(/[<>\\`*_$~|]/g, "\\$&");
  return `![${alt}](<${address}>)`;
}

/** The files that an answer names as images, outside of code. */
function referencesIn(markdown: string): readonly string[] {
  const found = withoutCode(markdown).matchAll(IMAGE);
  return [...found].flatMap(([, angled, plain]) => {
    const address = (angled ?? plain ?? "").replaceAll(/\\([!-/:-@[-`{-~])/g, "$1").replaceAll("&amp;", "&");
    return [address, decoded(address)].flatMap((each) => {
      const within = outputPath(each) ?? (each.startsWith("/") ? undefined : outputPath(`outputs/${each}`));
      return within ?? [];
    });
  });
}

// Bounded, for a model may write thousands of brackets.
const IMAGE =
  /(?<!\\)!\[(?:[^[\]\\\n]|\\.|\[[^[\]\n]{0,200}\]){0,500}\]\(\s{0,9}(?:<((?:[^<>\\\n]|\\.){1,500})>|((?:[^\s()\\]|\\.|\([^\s()]{0,200}\)){1,500}))/g;

function withoutCode(markdown: string): string {
  return markdown
    .replaceAll(/^ {0,3}(`{3,}|~{3,})[^\n]*\n[^]*?(?:^ {0,3}\1[^\n]*$|$(?![^]))/gm, "")
    .replaceAll(/(?<![`\\])(`{1,9})(?!`)[^`\n]{1,500}\1(?!`)/g, "");
}

function decoded(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
