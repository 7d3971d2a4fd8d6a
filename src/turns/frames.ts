import type { Forward, Sender } from "../core/events.ts";
import { oneLine } from "../core/words.ts";

// What others say is framed as data: our own words stand in brackets, and every line of theirs is marked, so that no text
// can end its frame or pose as one of ours.

/** Every line marked as the words of somebody else. */
export function quoted(text: string): string {
  return text
    .split(LINE_END)
    .map((line) => `> ${line}`)
    .join("\n");
}

/** The same of a text in which only lines have to be marked that look like ours. */
export function notPosing(text: string): string {
  return text
    .split(LINE_END)
    .map((line) => (OURS.test(seen(line)) ? `> ${line}` : line))
    .join("\n");
}

/** A name as it may stand in our brackets. */
export function nameOf(given: string): string {
  const words = oneLine(given);
  return words === "" ? "somebody" : words.slice(0, 80).toWellFormed();
}

/** Somebody in a group; the number stands last, where no name can put another. */
export function speakerOf(from: Pick<Sender, "name">, speaker: number | undefined): string {
  return `${nameOf(from.name)}${speaker === undefined ? "" : ` (${speaker})`}`;
}

/** "2026-01-31 18:05 UTC"; undefined where the platform gives no time. */
export function timeWords(iso: string): string | undefined {
  const at = Date.parse(iso);
  if (!(at > 0)) return undefined;
  return `${new Date(at).toISOString().slice(0, "2026-01-01T00:00".length).replace("T", " ")} UTC`;
}

export function originOf({ from, signature, sentAt }: Forward): string {
  return [
    nameOf(from),
    ...(signature === undefined ? [] : [`signed ${nameOf(signature)}`]),
    ...(sentAt === undefined ? [] : [`sent ${sentAt.slice(0, "2026-01-01".length)}`]),
  ].join(", ");
}

// Also the line ends of Unicode: a model takes them for what they are.
const LINE_END = /\r\n|[\n-\r\u0085\u2028\u2029]/;
/** How our own lines begin. */
const OURS =
  /^\s*[[【〔]\s*(?:from|forwarded|in reply|said in|by hand|while you|sent|edited|taken back|reaction|where you are|scheduled|allowed by|refused by|not answered|never asked|stopped)\b/iu;

/** A line as a reader takes it: without what nobody sees, and with signs of other widths as the usual ones. */
function seen(line: string): string {
  return line.normalize("NFKC").replaceAll(/(?!\s)[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "");
}
