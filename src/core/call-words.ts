/** Of what one argument is called. */
const NAME_CHARACTERS = 80;
/** Of one argument; people have to read it. */
const VALUE_CHARACTERS = 400;
/** Of all of them. */
const ALL_CHARACTERS = 1_600;
const SECRET = /pass(?:word|wd|phrase)|secret|token|api.?key|credential|authorization|cookie|private.?key/i;

/**
 * The arguments of a call for people who are to decide about it, a line each: as JSON, so that none can end its line, and
 * without signs that turn the writing round, hide, or end a frame. What is called a secret is not shown, what is long is cut,
 * and both are said.
 */
export function argumentLines(args: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(args).map(
    ([name, value]) => `${cut(visible(name), NAME_CHARACTERS)}: ${valueWords(name, value)}`,
  );
  let room = ALL_CHARACTERS;
  const over = lines.findIndex((line) => (room -= line.length + 1) < 0);
  const shown = over < 0 ? lines : lines.slice(0, over);
  return [...shown, ...(over < 0 ? [] : [`… ${lines.length - over} more not shown`])].join("\n");
}

function valueWords(name: string, value: unknown): string {
  if (SECRET.test(name)) return "(not shown)";
  return cut(visible(JSON.stringify(value, hidden) ?? "null"), VALUE_CHARACTERS);
}

function cut(words: string, most: number): string {
  if (words.length <= most) return words;
  return `${words.slice(0, most).toWellFormed()}… (${words.length - most} characters more)`;
}

function hidden(name: string, value: unknown): unknown {
  return SECRET.test(name) ? "(not shown)" : value;
}

/** Backticks close code where a platform's text is its markup; of the rest a reader sees nothing, or something else. */
const UNSAFE = /[`\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

function visible(text: string): string {
  return text.replaceAll(UNSAFE, (sign) =>
    Array.from({ length: sign.length }, (_, at) => escaped(sign.charCodeAt(at))).join(""),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
