/**
 * Markdown as a tree of our own, so that only `reply` knows the parser and channels render without one.
 * Text is unescaped and holds no markup; `raw` HTML of the source arrives as text.
 */
export type MarkdownTree = { readonly blocks: readonly BlockNode[] };

export type BlockNode =
  | { readonly type: "paragraph"; readonly inline: readonly InlineNode[] }
  | {
      readonly type: "heading";
      readonly level: 1 | 2 | 3 | 4 | 5 | 6;
      readonly inline: readonly InlineNode[];
    }
  | { readonly type: "code"; readonly text: string; readonly language?: string }
  | { readonly type: "math"; readonly text: string }
  | { readonly type: "quote"; readonly blocks: readonly BlockNode[] }
  | {
      readonly type: "list";
      readonly start?: number;
      readonly loose: boolean;
      readonly items: readonly ListItem[];
    }
  | { readonly type: "table"; readonly header: readonly Cell[]; readonly rows: readonly (readonly Cell[])[] }
  | { readonly type: "rule" };

/** `start` absent on the list means bullets; `checked` absent means no task box. */
export type ListItem = { readonly checked?: boolean; readonly blocks: readonly BlockNode[] };

export type Cell = { readonly align?: "left" | "center" | "right"; readonly inline: readonly InlineNode[] };

export type InlineNode =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "break" }
  | { readonly type: "code"; readonly text: string }
  | { readonly type: "bold" | "italic" | "strike"; readonly inline: readonly InlineNode[] }
  | { readonly type: "link"; readonly url: string; readonly inline: readonly InlineNode[] }
  | { readonly type: "image"; readonly url: string; readonly alt: string };

/**
 * What a channel makes of a tree: text and marks over it, offsets and lengths in UTF-16 units. Outer marks come first.
 * A channel whose text is markup (the web chat: HTML) gives no marks. `reply` splits it; the channel sends it as it is.
 */
export type Rendered = {
  readonly text: string;
  readonly marks: readonly Mark[];
  /** The same in a richer form of the channel's own, JSON, where it has one. Only of a piece that is the whole. */
  readonly rich?: unknown;
};

export type Mark = {
  /** The platform's own word: "bold", "pre", "text_link". */
  readonly type: string;
  readonly offset: number;
  readonly length: number;
  readonly url?: string;
  readonly language?: string;
  /** How many units at its beginning are said again where it is cut: the heading of a table. Not part of a piece. */
  readonly head?: number;
};
