import { LineCounter, parseDocument } from "yaml";
import type { YAMLError } from "yaml";

import { pathText } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { Path } from "./path.ts";
import type { Lookup } from "./variables.ts";
import { YamlWalk } from "./yaml-walk.ts";

/** A YAML text as plain data, with what is needed to say where each value came from. */
export type YamlSource = {
  /** As faults name it. */
  readonly file: string;
  /** Variables are filled in; a key whose value is empty is left out; what is unset still reads `${VAR}`. */
  readonly value: unknown;
  /** False where the text is not YAML, or unfolds into too much: `value` says nothing then. */
  readonly readable: boolean;
  /** Faults of the text itself; unset variables are not among them. */
  readonly faults: readonly Fault[];
  /** What the environment put under keys of secrets: never to be shown. */
  readonly secrets: readonly string[];
  /** Variables without a value at or under a path, in the order they are written. */
  unsetUnder(path: Path): readonly UnsetVariable[];
  /** Whether something at or under a path is unset or has a fault already, so that what a schema says is idle. */
  spoiledUnder(path: Path): boolean;
  /** The text came from the environment, so that it may stand for a number. */
  fromVariable(path: Path): boolean;
  has(path: Path): boolean;
  /** The text at a path as it may be shown, without quotes; `undefined` for what is no text. */
  text(path: Path): string | undefined;
  /** A fault at a path, with its line and value. */
  fault(path: Path, problem: string, remedy: string): Fault;
};

type UnsetVariable = { readonly name: string; readonly path: Path };

/** `firstLine` is the line of the file where the text begins. */
export function readYaml(
  text: string,
  options: { readonly file: string; readonly lookup: Lookup; readonly firstLine?: number },
): YamlSource {
  const { file, lookup, firstLine = 1 } = options;
  const counter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: counter,
    prettyErrors: false,
    // The walk finds them, where the path is known.
    uniqueKeys: false,
  });
  const lineAt = (offset: number): number => counter.linePos(offset).line + firstLine - 1;

  const walk = new YamlWalk(document, lookup, lineAt);
  const syntax = [...document.errors, ...document.warnings];
  const whole = syntax.length === 0 ? walk.run() : undefined;
  const readable = syntax.length === 0 && walk.complete;
  const value = readable ? whole : undefined;

  function fault(path: Path, problem: string, remedy: string): Fault {
    const line = walk.lineNear(path);
    const shown = walk.mark(path)?.shown;
    return {
      file,
      path: pathText(path),
      ...(line === undefined ? {} : { line }),
      ...(shown === undefined ? {} : { value: shown }),
      problem,
      remedy,
    };
  }

  return {
    file,
    value,
    readable,
    faults:
      syntax.length === 0
        ? walk.troubles.map((it) => fault(it.path, it.problem, it.remedy))
        : syntaxFaults(syntax, file, text, lineAt, firstLine),
    secrets: walk.secrets,
    unsetUnder: (path) => walk.unset.filter((it) => isUnder(it.path, path)),
    spoiledUnder: (path) => [...walk.unset, ...walk.troubles].some((it) => isUnder(it.path, path)),
    fromVariable: (path) => walk.mark(path)?.fromVariable === true,
    has: (path) => path.reduce<unknown>(child, value) !== undefined,
    text(path) {
      const shown = walk.mark(path)?.shown;
      // Shown texts are JSON strings.
      return shown?.startsWith('"') === true ? (JSON.parse(shown) as string) : shown;
    },
    fault,
  };
}

/** The part of plain data under a key or index. */
export function child(part: unknown, step: string | number): unknown {
  if (typeof part !== "object" || part === null || !Object.hasOwn(part, step)) return undefined;
  // It has the key, as was just asked.
  return (part as Readonly<Record<string | number, unknown>>)[step];
}

function isUnder(path: Path, top: Path): boolean {
  return top.every((step, i) => path[i] === step);
}

/** One fault a line: one slip makes the parser stumble several times. */
function syntaxFaults(
  errors: readonly YAMLError[],
  file: string,
  text: string,
  lineAt: (offset: number) => number,
  firstLine: number,
): readonly Fault[] {
  const lines = text.split("\n");
  const byLine = new Map<number, Fault>();
  for (const error of errors) {
    const line = lineAt(error.pos[0]);
    if (byLine.has(line)) continue;
    if (error.code === "MULTIPLE_DOCS") {
      const problem = "a second document begins here, and only one is read";
      byLine.set(line, { file, path: "", line, problem, remedy: "Remove this line of ---" });
      continue;
    }
    // The parser's sentence may quote the file, and the file may hold a secret.
    const said = error.message.replace(/:.*$/s, "").replace(/^./, (letter) => letter.toLowerCase());
    byLine.set(line, {
      file,
      path: "",
      line,
      problem: `not valid YAML: ${said}`,
      remedy: /[{[,][^"'#]*\$\{/.test(lines[line - firstLine] ?? "")
        ? 'Inside { } and [ ] a variable stands in quotes: "${NAME}"'
        : error.code === "TAB_AS_INDENT"
          ? "Indent with spaces"
          : "Look at this line and the one above: spaces indent, and text with special characters stands in quotes",
    });
  }
  return [...byLine.values()];
}
