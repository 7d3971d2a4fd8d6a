import { isAlias, isMap, isScalar, isSeq } from "yaml";
import type { Document, Scalar } from "yaml";

import type { Path } from "./path.ts";
import { holdsSecret, looksSecret, maskDigits, mayHoldSecret, namesSecret, showable } from "./secrets.ts";
import { expand } from "./variables.ts";
import type { Lookup } from "./variables.ts";

type Mark = { readonly line: number; shown?: string; fromVariable?: true };

type Trouble = { readonly path: Path; readonly problem: string; readonly remedy: string };

// Aliases may make a small file unfold into a huge one, or into itself.
const MOST_NODES = 20_000;
const MOST_DEPTH = 32;
// Shorter words of an environment, such as "debug", stand in sentences of their own.
const SHORTEST_SECRET = 8; // characters

/** One way through a YAML document, from nodes to plain data; what it meets is kept by path. */
export class YamlWalk {
  readonly troubles: Trouble[] = [];
  readonly unset: { readonly name: string; readonly path: Path }[] = [];
  readonly secrets: string[] = [];
  readonly #document: Document.Parsed;
  readonly #lookup: Lookup;
  readonly #lineAt: (offset: number) => number;
  readonly #marks = new Map<string, Mark>();
  readonly #anchors = new Set<string>();
  #nodes = 0;
  #line = 1;

  constructor(document: Document.Parsed, lookup: Lookup, lineAt: (offset: number) => number) {
    this.#document = document;
    this.#lookup = lookup;
    this.#lineAt = lineAt;
  }

  run(): unknown {
    return this.#plain(this.#document.contents, [], false);
  }

  /** False where there was too much to go all the way. */
  get complete(): boolean {
    return this.#nodes <= MOST_NODES;
  }

  mark(path: Path): Mark | undefined {
    return this.#marks.get(JSON.stringify(path));
  }

  /** The line of the value at a path, or of what it should stand in. */
  lineNear(path: Path): number | undefined {
    for (let length = path.length; length >= 0; length--) {
      const line = this.mark(path.slice(0, length))?.line;
      if (line !== undefined) return line;
    }
    return undefined;
  }

  /** `undefined` for what is empty. */
  #plain(node: unknown, path: Path, viaAlias: boolean): unknown {
    if (this.#nodes > MOST_NODES) return undefined;
    this.#nodes++;
    if (this.#nodes > MOST_NODES || path.length > MOST_DEPTH) {
      this.#nodes = Number.POSITIVE_INFINITY;
      const problem = `more than ${MOST_NODES} values or ${MOST_DEPTH} levels, with aliases unfolded`;
      this.#trouble(path.slice(0, 2), problem, "Write less, or use fewer aliases");
      return undefined;
    }
    if (isAlias(node)) {
      this.#note(path, node.range?.[0], viaAlias);
      const target = node.resolve(this.#document);
      if (target !== undefined) return this.#plain(target, path, true);
      const { source } = node;
      this.#trouble(path, `no anchor &${source} stands before *${source}`, `Write &${source} before it`);
      return undefined;
    }
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return undefined;
    this.#note(path, node.range?.[0], viaAlias);
    if (node.anchor !== undefined && !viaAlias) this.#anchor(node.anchor, path);
    if (isScalar(node)) return this.#scalar(node, path);
    if (isMap(node)) return this.#map(node.items, path, viaAlias);
    const list: unknown[] = [];
    for (const item of node.items) {
      const value = this.#plain(item, [...path, list.length], viaAlias);
      if (value !== undefined) list.push(value);
    }
    return list;
  }

  #map(pairs: readonly { key: unknown; value: unknown }[], path: Path, viaAlias: boolean): unknown {
    const map: Record<string, unknown> = {};
    const seen = new Set<string>();
    for (const pair of pairs) {
      const key = this.#key(pair.key, path);
      if (key === undefined) continue;
      const at = [...path, key];
      // The key's line is where an operator looks; its value may begin on the next.
      if (isScalar(pair.key)) this.#note(at, pair.key.range?.[0], viaAlias);
      if (seen.has(key)) {
        this.#trouble(at, "the key stands here a second time", "Keep one of the two");
        continue;
      }
      seen.add(key);
      const value = this.#plain(pair.value, at, viaAlias);
      if (value !== undefined) map[key] = value;
    }
    return map;
  }

  #key(key: unknown, path: Path): string | undefined {
    const name = isScalar(key) ? key.value : undefined;
    if (typeof name === "string" && name !== "__proto__") return name;
    const written = isScalar(key) ? (key.source ?? "") : "";
    if (typeof name === "number" && String(name) === written && !isUnsafe(name)) return written;
    const problem =
      typeof name === "number" ? `the key ${maskDigits(written)} changes as a number` : "a key is not text";
    this.#trouble(path, problem, "Put the key in quotes");
    return undefined;
  }

  #scalar({ value, source = "" }: Scalar, path: Path): unknown {
    if (holdsSecret(path) && typeof value !== "string" && value !== null) return this.#secretInFile(path);
    switch (typeof value) {
      case "number":
        return this.#number(value, source, path);
      case "boolean":
        this.#show(path, showable(source, path, "number"));
        return value;
      case "string":
        return this.#text(value, path);
      default:
        return undefined;
    }
  }

  /** Ids are the usual numbers here, and a digit that is lost names another person. */
  #number(value: number, source: string, path: Path): unknown {
    this.#show(path, showable(source, path, "number"));
    if (!Number.isInteger(value) || (String(value) === source && !isUnsafe(value))) return value;
    const problem = isUnsafe(value)
      ? `a number above ${Number.MAX_SAFE_INTEGER} loses digits`
      : `as a number this reads ${showable(String(value), path, "number") ?? "otherwise"}`;
    this.#trouble(path, problem, "Put it in quotes if it is an id, else write the plain number");
    return undefined;
  }

  #text(written: string, path: Path): unknown {
    this.#show(path, showable(written, path, "text"));
    const { text, names, unset, literal, malformed } = expand(written, this.#lookup);
    if (malformed) {
      this.#trouble(path, "${ begins no variable", "Write ${NAME} or ${NAME:-default}");
      return undefined;
    }
    if (looksSecret(literal) || (holdsSecret(path) && literal !== "")) return this.#secretInFile(path);
    // "Bearer ${TOKEN}" is as it should be.
    if (namesSecret(path) && names.length === 0) return this.#secretInFile(path);
    this.unset.push(...unset.map((name) => ({ name, path })));
    const mark = this.mark(path);
    if (mark !== undefined && names.length > 0) mark.fromVariable = true;
    const secret = holdsSecret(path) || (mayHoldSecret(path) && text.length >= SHORTEST_SECRET);
    if (secret && names.length > 0 && unset.length === 0 && text !== "") this.secrets.push(text);
    return text === "" && names.length > 0 ? undefined : text;
  }

  #secretInFile(path: Path): undefined {
    const remedy = "Put it into .env as NAME=…, and write ${NAME} here, without a default";
    this.#trouble(path, "a secret stands in the file itself", remedy);
  }

  #anchor(name: string, path: Path): void {
    if (this.#anchors.has(name)) {
      this.#trouble(
        path,
        `the anchor &${name} stands here a second time`,
        "Give one of the two another name",
      );
    }
    this.#anchors.add(name);
  }

  #note(path: Path, offset: number | undefined, viaAlias: boolean): void {
    if (this.mark(path) !== undefined) return;
    // What an alias brings in is told at the alias.
    if (offset !== undefined && !viaAlias) this.#line = this.#lineAt(offset);
    this.#marks.set(JSON.stringify(path), { line: this.#line });
  }

  #show(path: Path, shown: string | undefined): void {
    const mark = this.mark(path);
    if (mark !== undefined && shown !== undefined) mark.shown = shown;
  }

  #trouble(path: Path, problem: string, remedy: string): void {
    this.troubles.push({ path, problem, remedy });
  }
}

function isUnsafe(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}
