import type { Path } from "./path.ts";
import { hideSecrets, maskDigits } from "./secrets.ts";

/** One thing that is wrong in one of the operator's files. Holds no secret and no phone number. */
export type Fault = {
  /** As an operator would type it: "config/perch.yaml". */
  readonly file: string;
  /** "channels.family.agnet", "channels.family.allow[0]"; empty where the file as a whole is meant. */
  readonly path: string;
  /** From 1. */
  readonly line?: number;
  /** What stands in the file, as it stands there: `${VAR}` rather than what it stands for. */
  readonly value?: string;
  readonly problem: string;
  /** What to do next; a sentence without its full stop. */
  readonly remedy: string;
};

export function faultSentence(fault: Fault): string {
  const where = fault.line === undefined ? fault.file : `${fault.file}:${fault.line}`;
  const what = [fault.path, fault.value === undefined ? "" : `(${fault.value})`].filter(Boolean).join(" ");
  const end = fault.remedy.endsWith("?") ? "" : ".";
  return `${where}${what === "" ? "" : ` ${what}`}: ${fault.problem}. ${fault.remedy}${end}`;
}

/** "channels.family.allow[0]". Long runs of digits may be phone numbers and are shortened: "49…12". */
export function pathText(path: Path): string {
  const text = path.map((step, i) => (typeof step === "number" ? `[${step}]` : i === 0 ? step : `.${step}`));
  return maskDigits(hideSecrets(text.join("")));
}

/** "Did you mean …?" where a known word is near, else what there is to choose from. */
export function suggestion(word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  if (near !== undefined) return near;
  if (known.length === 0) return "Remove it";
  return `Known here: ${known.toSorted().join(", ")}`;
}

/** "Did you mean …?", where a known word is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const near = closest(word, known);
  return near === undefined ? undefined : `Did you mean "${near}"?`;
}

function closest(word: string, known: readonly string[]): string | undefined {
  const lower = word.toLowerCase();
  const ranked = known
    .map((name) => ({ name, away: distance(lower, name.toLowerCase()) }))
    .toSorted((a, b) => a.away - b.away);
  const best = ranked[0];
  if (best === undefined) return undefined;
  if (best.away <= Math.max(1, Math.floor(Math.max(word.length, best.name.length) / 3))) return best.name;
  // "timeout" for "timeoutSeconds", "google" for "google-genai".
  return lower.length < 3 ? undefined : known.find((name) => name.toLowerCase().startsWith(lower));
}

/** Edits between two words: insert, delete, replace, and swapping two neighbours ("agnet"). */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + (same ? 0 : 1),
          swapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(a.length, b.length);
}
