import { oneLine } from "../../core/words.ts";
import { unescapeHtml } from "./html-entities.ts";
import { Manuscript } from "./manuscript.ts";

/** The text of HTML as Markdown. Nothing is loaded and nothing runs; linear in its length, however broken it is. */
export function htmlText(html: string): string {
  const written = new Manuscript();
  writeHtml(html, written);
  return written.finish();
}

// What has no words for a reader.
const LEFT_OUT = new Set([
  "script",
  "style",
  "noembed",
  "noframes",
  "template",
  "title",
  "svg",
  "math",
  "object",
  "iframe",
]);
/** Whose contents are no markup. */
const RAW = new Set(["script", "style", "noembed", "noframes", "title", "textarea"]);
const EMPTY = new Set([
  "area",
  "base",
  "br",
  "col",
  "embed",
  "hr",
  "img",
  "input",
  "link",
  "meta",
  "source",
  "track",
  "wbr",
]);
/** That end without an end tag, where the next of their name begins. */
const UNCLOSED = new Set(["p", "li", "td", "th", "tr", "dt", "dd", "option"]);
const BLOCKS = new Set(
  (
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form " +
    "header hgroup legend main nav ol p pre section summary ul caption"
  ).split(" "),
);

/** Writes HTML into a manuscript that may hold more: the chapters of a book. */
export function writeHtml(html: string, written: Manuscript): void {
  const lists: { ordered: boolean; number: number }[] = [];
  const links: string[] = [];
  /** Of each table that is open: whether a cell is. The end tags of cells and rows are often left out. */
  const cells: boolean[] = [];
  /** The element that is left out, and how many of its name are open in it. */
  let leftOut: { name: string; depth: number } | undefined;
  let preformatted = 0;

  for (const token of tokensOf(html)) {
    if (written.full) return;
    if (token.kind === "text") {
      if (leftOut) continue;
      const words = unescapeHtml(token.text);
      if (preformatted > 0) written.exact(words);
      else written.text(words);
      continue;
    }
    const { name } = token;
    if (leftOut) {
      if (name !== leftOut.name) continue;
      const next = token.kind === "open" && UNCLOSED.has(name);
      leftOut.depth += token.kind === "open" && !next ? 1 : -1;
      if (leftOut.depth === 0) leftOut = undefined;
      if (!next) continue;
    }
    if (token.kind === "close") close(name);
    else if (!EMPTY.has(name) && (LEFT_OUT.has(name) || isHidden(token.attributes)))
      leftOut = { name, depth: 1 };
    else open(name, token.attributes);
  }

  function open(name: string, attributes: string): void {
    const heading = /^h([1-6])$/.exec(name);
    if (heading) return written.heading(Number(heading[1]));
    if (name === "pre") preformatted += 1;
    if (name === "ul" || name === "ol") {
      lists.push({ ordered: name === "ol", number: Number(attributeOf(attributes, "start") ?? 1) || 1 });
    }
    if (BLOCKS.has(name)) return written.paragraph();
    switch (name) {
      case "br":
        return written.lineBreak();
      case "hr":
        written.paragraph();
        return written.exact("---");
      case "li": {
        const list = lists.at(-1);
        written.item(Math.max(lists.length - 1, 0), list?.ordered ? list.number : undefined);
        if (list) list.number += 1;
        return;
      }
      case "img": {
        const seen = oneLine(unescapeHtml(attributeOf(attributes, "alt") ?? ""));
        if (seen !== "") written.text(`[picture: ${seen}]`);
        return;
      }
      case "a": {
        const address = unescapeHtml(attributeOf(attributes, "href") ?? "").trim();
        links.push(/^(https?|mailto|tel):/i.test(address) ? address : "");
        if (links.at(-1) !== "") written.exact("[");
        return;
      }
      case "table":
        cells.push(false);
        return written.tableStart();
      case "tr":
        endCell();
        return written.rowEnd();
      case "td":
      case "th":
        endCell();
        if (cells.length > 0) cells[cells.length - 1] = true;
        return;
    }
  }

  function endCell(): void {
    if (cells.at(-1) !== true) return;
    cells[cells.length - 1] = false;
    written.cellEnd();
  }

  function close(name: string): void {
    if (/^h[1-6]$/.test(name) || name === "li") return written.paragraph();
    if (name === "pre") preformatted = Math.max(preformatted - 1, 0);
    if (name === "ul" || name === "ol") lists.pop();
    if (BLOCKS.has(name)) return written.paragraph();
    switch (name) {
      case "a": {
        const address = links.pop() ?? "";
        if (address !== "") written.linkEnd(address);
        return;
      }
      case "td":
      case "th":
        return endCell();
      case "tr":
        endCell();
        return written.rowEnd();
      case "table":
        endCell();
        cells.pop();
        return written.tableEnd();
    }
  }
}

type Token =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open"; readonly name: string; readonly attributes: string }
  | { readonly kind: "close"; readonly name: string };

/** Tags and what is between them. Every step looks on from where the last ended, so no text makes it slow. */
function* tokensOf(html: string): Generator<Token> {
  const tag = /[a-zA-Z][^\s/>]*/y;
  let at = 0;
  while (at < html.length) {
    const start = html.indexOf("<", at);
    if (start < 0) break;
    if (start > at) yield { kind: "text", text: html.slice(at, start) };
    const closes = html[start + 1] === "/";
    tag.lastIndex = start + (closes ? 2 : 1);
    const name = tag.exec(html)?.[0].toLowerCase();
    if (name === undefined) {
      at = /[!?/]/.test(html[start + 1] ?? "") ? declarationEnd(html, start) : start + 1;
      if (at === start + 1) yield { kind: "text", text: "<" };
      continue;
    }
    const end = tagEnd(html, tag.lastIndex);
    if (closes) yield { kind: "close", name };
    else {
      const attributes = html.slice(tag.lastIndex, end - 1);
      yield { kind: "open", name, attributes };
      if (attributes.endsWith("/") && !EMPTY.has(name) && /^(svg|math|a|p|div|title|script)$/.test(name))
        yield { kind: "close", name }; // XHTML
      else if (RAW.has(name)) {
        const close = rawEnd(html, end, name);
        if (close > end) yield { kind: "text", text: html.slice(end, close) };
        at = close;
        continue;
      }
    }
    at = end;
  }
  if (at < html.length) yield { kind: "text", text: html.slice(at) };
}

/** Behind the ">" that ends a tag; one in quotes ends none. */
function tagEnd(html: string, from: number): number {
  const stop = /["'>]/g;
  for (let at = from; ;) {
    stop.lastIndex = at;
    const found = stop.exec(html);
    if (found === null) return html.length + 1;
    if (found[0] === ">") return found.index + 1;
    // A quote only begins a value behind "=", whatever the blanks between.
    if (!/=\s{0,8}$/.test(html.slice(Math.max(found.index - 10, from), found.index))) {
      at = found.index + 1;
      continue;
    }
    const end = html.indexOf(found[0], found.index + 1);
    if (end < 0) return html.length + 1;
    at = end + 1;
  }
}

/** Behind a comment, a CDATA section or a declaration. */
function declarationEnd(html: string, start: number): number {
  const [mark, skipped] = html.startsWith("<!--", start)
    ? (["-->", 4] as const)
    : html.startsWith("<![CDATA[", start)
      ? (["]]>", 9] as const)
      : ([">", 1] as const);
  const end = html.indexOf(mark, start + skipped);
  return end < 0 ? html.length : end + mark.length;
}

/** Where the end tag of an element begins whose contents are no markup; the end of all where there is none. */
function rawEnd(html: string, from: number, name: string): number {
  const end = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}

function attributeOf(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|[\\s"'/])${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i").exec(
    attributes,
  );
  return found ? (found[1] ?? found[2] ?? found[3]) : undefined;
}

/** Words that a reader of the page would not see. */
function isHidden(attributes: string): boolean {
  return (
    /(?:^|\s)hidden(?=[\s=/]|$)/i.test(attributes) ||
    /display\s*:\s*none/i.test(attributeOf(attributes, "style") ?? "")
  );
}
