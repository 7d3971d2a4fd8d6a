import type { BlockNode, Cell, InlineNode, ListItem, MarkdownTree, Rendered } from "../../src/core/tree.ts";

/**
 * The tree as HTML that is safe to put into a page: only the elements written here, all text escaped, no images, and
 * links to http, https and mailto alone. There are no marks, and it must not be split: give the whole to one message.
 * Classes for the page: `table-scroll`, `task`, `align-left|center|right`, `language-…`.
 */
export function render(tree: MarkdownTree): Rendered {
  return { text: renderBlocks(tree.blocks), marks: [] };
}

function renderBlocks(blocks: readonly BlockNode[]): string {
  return blocks.map(renderBlock).join("\n");
}

function renderBlock(block: BlockNode): string {
  switch (block.type) {
    case "paragraph":
      return `<p>${renderInline(block.inline)}</p>`;
    case "heading":
      return `<h${block.level}>${renderInline(block.inline)}</h${block.level}>`;
    case "code":
      return renderCode(block.text, block.language);
    case "math":
      return renderCode(block.text, "latex");
    case "quote":
      return `<blockquote>${renderBlocks(block.blocks)}</blockquote>`;
    case "list":
      return renderList(block);
    case "table":
      return renderTable(block);
    case "rule":
      return "<hr>";
  }
}

function renderCode(text: string, language: string | undefined): string {
  const name = (language ?? "").toLowerCase().replaceAll(/[^a-z0-9+#._-]/g, "");
  return `<pre><code${name === "" ? "" : ` class="language-${name}"`}>${escape(text)}</code></pre>`;
}

function renderList(list: Extract<BlockNode, { type: "list" }>): string {
  const items = list.items.map((item) => renderItem(item, list.loose)).join("");
  if (list.start === undefined) return `<ul>${items}</ul>`;
  return `<ol${list.start === 1 ? "" : ` start="${list.start}"`}>${items}</ol>`;
}

function renderItem({ checked, blocks }: ListItem, loose: boolean): string {
  const [first, ...rest] = blocks;
  const isText = first?.type === "paragraph";
  const text = isText ? renderInline(first.inline) : "";
  const line = checked === undefined ? text : `<label>${box(checked)} ${text}</label>`;
  const head = loose && isText ? `<p>${line}</p>` : line;
  const others = (isText ? rest : blocks).map((block) =>
    !loose && block.type === "paragraph" ? `<br>${renderInline(block.inline)}` : renderBlock(block),
  );
  return `<li${checked === undefined ? "" : ' class="task"'}>${head}${others.join("\n")}</li>`;
}

function box(checked: boolean): string {
  return `<input type="checkbox" disabled${checked ? " checked" : ""}>`;
}

function renderTable(table: Extract<BlockNode, { type: "table" }>): string {
  const body = table.rows.map((cells) => renderRow(cells, "td")).join("");
  return (
    `<div class="table-scroll"><table><thead>${renderRow(table.header, "th")}</thead>` +
    `${body === "" ? "" : `<tbody>${body}</tbody>`}</table></div>`
  );
}

function renderRow(cells: readonly Cell[], name: "th" | "td"): string {
  return `<tr>${cells.map((cell) => renderCell(cell, name)).join("")}</tr>`;
}

function renderCell({ align, inline }: Cell, name: "th" | "td"): string {
  return `<${name}${align ? ` class="align-${align}"` : ""}>${renderInline(inline)}</${name}>`;
}

function renderInline(nodes: readonly InlineNode[], inLink = false): string {
  return nodes
    .map((node) => {
      switch (node.type) {
        case "text":
          return escape(node.text);
        case "break":
          return "<br>";
        case "code":
          return `<code>${escape(node.text)}</code>`;
        case "bold":
          return `<strong>${renderInline(node.inline, inLink)}</strong>`;
        case "italic":
          return `<em>${renderInline(node.inline, inLink)}</em>`;
        case "strike":
          return `<del>${renderInline(node.inline, inLink)}</del>`;
        case "link":
          return renderLink(node.url, renderInline(node.inline, true), inLink);
        case "image":
          return renderLink(node.url, escape(node.alt) || "image", inLink);
      }
    })
    .join("");
}

/** Links do not nest; an address of another kind is shown beside its words, and a data: address not at all. */
function renderLink(url: string, label: string, inLink: boolean): string {
  if (inLink) return label;
  const said = label === "" ? escape(url) : label;
  const address = acceptable(url);
  if (address !== undefined) {
    return `<a href="${escape(address)}" target="_blank" rel="noopener noreferrer nofollow">${said}</a>`;
  }
  return url === "" || said === escape(url) || /^data:/i.test(url) ? said : `${said} (${escape(url)})`;
}

function acceptable(url: string): string | undefined {
  if (!/^(?:https?:\/\/|mailto:)/i.test(url) || !URL.canParse(url)) return undefined;
  const { protocol, href } = new URL(url);
  return protocol === "http:" || protocol === "https:" || protocol === "mailto:" ? href : undefined;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Control characters that no text needs are left out, so is the half of a surrogate pair. */
function escape(text: string): string {
  return text
    .replaceAll(/(?![\n\t])\p{Cc}/gu, "")
    .replaceAll(/\p{Surrogate}/gu, "\ufffd")
    .replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);
}
