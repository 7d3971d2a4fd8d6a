import { describe, expect, it } from "vitest";
import { render } from "../../channels/telegram/render.ts";
import { render as renderHtml } from "../../channels/web/render.ts";
import type { BlockNode, Mark, Rendered } from "../../src/core/tree.ts";
import { isMediaPath, takeMedia } from "../../src/reply/media-refs.ts";
import { splitRendered } from "../../src/reply/split.ts";
import { parseMarkdown } from "../../src/reply/tree.ts";
import { markdownDocument, random } from "./documents.ts";

const COUNT = process.env["PERCH_LONG"] ? 20_000 : 2_000;
const documents = Array.from({ length: COUNT }, (_, index) => {
  const tree = parseMarkdown(markdownDocument(random(index + 1)));
  return { seed: index + 1, tree, rendered: render(tree) };
});

const TYPES = ["bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"];
const bare = (text: string): string => text.replaceAll(/\s/g, "");
const endOf = (mark: Mark): number => mark.offset + mark.length;

const pictures = (blocks: readonly BlockNode[]): number =>
  Array.from(JSON.stringify(blocks).matchAll(/"image","url":"(.*?)"/g)).filter(([, url = ""]) =>
    isMediaPath(url),
  ).length;

/** What would make the server refuse or repair the message, in words; empty when nothing would. */
function faults({ text, marks }: Rendered): string[] {
  const found: string[] = [];
  if (/\p{Surrogate}/u.test(text)) found.push("half a pair of surrogates");
  if (/[\t\r\u2028-\u202e]/.test(text) || text !== text.trimEnd()) found.push("not normalised");
  for (const mark of marks) {
    const said = text.slice(mark.offset, endOf(mark));
    if (!TYPES.includes(mark.type)) found.push(`mark ${mark.type}`);
    if (mark.offset < 0 || endOf(mark) > text.length) found.push("mark out of range");
    if (said.trim() === "") found.push("mark over nothing");
    if (/\p{Surrogate}/u.test(said)) found.push("mark cuts a pair");
    if ((mark.type === "text_link") !== (mark.url !== undefined)) found.push("link without an address");
    for (const other of marks) {
      const inside = other !== mark && other.offset >= mark.offset && endOf(other) <= endOf(mark);
      if (inside && (mark.type === "pre" || mark.type === "code") && other.length < mark.length)
        found.push("mark in code");
      if (inside && mark.type === other.type) found.push(`${mark.type} in ${mark.type}`);
      if (other.offset > mark.offset && other.offset < endOf(mark) && endOf(other) > endOf(mark))
        found.push("overlap");
    }
  }
  return found;
}

describe(`${COUNT} documents of any form`, () => {
  it("are rendered for Telegram as the server would have it", () => {
    for (const { seed, rendered } of documents) {
      expect({ seed, faults: faults(rendered) }).toEqual({ seed, faults: [] });
    }
  });

  it.each([64, 400, 4096])(
    "are split at %i without loss, and every piece is as the server would have it",
    (limit) => {
      const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
      const count = (text: string): number =>
        Array.from(graphemes.segment(text)).filter(({ segment }) => bare(segment) !== "").length;
      for (const { seed, rendered: asDrawn } of documents) {
        // The headings of tables, which are said again, have a test of their own.
        const rendered = { text: asDrawn.text, marks: asDrawn.marks.map((mark) => ({ ...mark, head: 0 })) };
        const pieces = splitRendered(rendered, limit);
        const found = pieces.flatMap((piece) => [
          ...faults(piece),
          ...(piece.text.length > limit ? ["too long"] : []),
          ...(piece.marks.length > 100 ? ["too many marks"] : []),
        ]);
        const marked = (type: string, all: readonly Rendered[]): string =>
          bare(
            all
              .flatMap(({ text, marks }) =>
                marks
                  .filter((mark) => mark.type === type)
                  .map((mark) => text.slice(mark.offset, endOf(mark))),
              )
              .join(""),
          );

        expect({ seed, found }).toEqual({ seed, found: [] });
        expect(bare(pieces.map(({ text }) => text).join(""))).toBe(bare(rendered.text));
        expect(pieces.reduce((sum, { text }) => sum + count(text), 0)).toBe(count(rendered.text));
        for (const type of TYPES) expect(marked(type, pieces)).toBe(marked(type, [rendered]));
      }
    },
  );

  it("keep their words when their media are taken out, and every medium is found once", () => {
    for (const { seed, tree } of documents) {
      const { parts } = takeMedia(tree);
      const found = pictures(tree.blocks);
      expect({ seed, media: parts.filter(({ kind }) => kind === "media").length }).toEqual({
        seed,
        media: found,
      });
      const rest = parts.flatMap((part) => (part.kind === "text" ? part.tree.blocks : []));
      expect({ seed, left: pictures(rest) }).toEqual({ seed, left: 0 });
      expect({ seed, rest: found === 0 ? rest : [] }).toEqual({ seed, rest: found === 0 ? tree.blocks : [] });
    }
  });

  it("hold no element and no attribute of their own as HTML", () => {
    const ours =
      /<\/?(?:p|h[1-6]|ul|ol|blockquote|strong|em|del|code|pre|table|thead|tbody|tr|label)>|<(?:br|hr)>|<ol start="\d+">|<\/?li(?: class="task")?>|<\/?(?:th|td)(?: class="align-(?:left|center|right)")?>|<\/?div(?: class="table-scroll")?>|<input type="checkbox" disabled(?: checked)?>|<code class="language-[a-z0-9+#._-]+">|<a href="(?:https?|mailto):[^"<>'\s]*" target="_blank" rel="noopener noreferrer nofollow">|<\/a>/g;
    for (const { seed, tree } of documents) {
      const { text } = renderHtml(tree);
      expect({ seed, left: /[<>"'].*/.exec(text.replaceAll(ours, ""))?.[0] }).toEqual({
        seed,
        left: undefined,
      });
    }
  });
});
