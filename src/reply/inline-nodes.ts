import type { BlockNode, InlineNode } from "../core/tree.ts";

/** What the nodes say without their form: alt texts, cells. A break is a space. */
export function words(inline: readonly InlineNode[]): string {
  return inline
    .map((node) => {
      switch (node.type) {
        case "text":
        case "code":
          return node.text;
        case "break":
          return " ";
        case "image":
          return node.alt;
        case "bold":
        case "italic":
        case "strike":
        case "link":
          return words(node.inline);
      }
    })
    .join("");
}

/** Adjacent texts are one; no break and no blank at either end. */
export function tidy(inline: readonly InlineNode[]): readonly InlineNode[] {
  const nodes: InlineNode[] = [];
  for (const node of inline) {
    const last = nodes.at(-1);
    if (node.type === "text" && last?.type === "text") {
      nodes[nodes.length - 1] = { type: "text", text: last.text + node.text };
    } else if (node.type !== "text" || node.text !== "") {
      nodes.push(node);
    }
  }
  while (isBlank(nodes.at(-1))) nodes.pop();
  while (isBlank(nodes[0])) nodes.shift();
  return nodes;
}

function isBlank(node: InlineNode | undefined): boolean {
  return node?.type === "break" || (node?.type === "text" && /^[ \t]*$/.test(node.text));
}

/** A paragraph, if there is something to say. */
export function paragraph(inline: readonly InlineNode[]): readonly BlockNode[] {
  const tidied = tidy(inline);
  return tidied.length > 0 ? [{ type: "paragraph", inline: tidied }] : [];
}

/** Text with its line ends as breaks; blanks around them are no part of it (CommonMark 6.8). */
export function lines(text: string, read: (line: string) => string): readonly InlineNode[] {
  const found = text.split(/\n|<br[ \t]*\/?>\n?/i);
  return found.flatMap((whole, index): readonly InlineNode[] => {
    const begun = index > 0 ? whole.replace(/^[ \t]+/, "") : whole;
    const line = index < found.length - 1 ? withoutBlankEnd(begun) : begun;
    return [
      ...(index > 0 ? [{ type: "break" } as const] : []),
      ...(line === "" ? [] : [{ type: "text", text: read(line).replaceAll("\n", " ") } as const]),
    ];
  });
}

/** In one pass: a pattern would begin anew at each blank. */
function withoutBlankEnd(line: string): string {
  let end = line.length;
  while (line[end - 1] === " " || line[end - 1] === "\t") end--;
  return line.slice(0, end);
}
