/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const WORDS = [
  "word",
  "a_b_c",
  "2*3*4",
  "naïve",
  "日本語",
  "مرحبا",
  "👨‍👩‍👧‍👦",
  "🇩🇪🇫🇷",
  "👍🏽",
  "1️⃣",
  "e\u0301",
  "a < b",
  "&amp;",
  "&#128512;",
  "$5",
  "$x_1$",
  "\\*",
  "[",
  "](",
  "**",
  "_",
  "`",
  "```",
  "~~",
  "|",
  "<b>",
  "</b>",
  "<br>",
  "<script>",
  "\"'",
  "https://example.com/a_(b)?x=1&y",
  "www.example.com",
  "a@example.com",
  "[^1]",
  "Ende.",
  "so!",
  "\t",
  "x".repeat(90),
  "🦊".repeat(40),
  "\u202e",
  "\ud83d",
];

/** A document in which everything may stand in everything, well formed or not. */
export function markdownDocument(next: () => number): string {
  const below = (count: number): number => Math.floor(next() * count);
  const some = (most: number, make: () => string, between: string): string =>
    Array.from({ length: 1 + below(most) }, make).join(between);
  const word = (): string => WORDS[below(WORDS.length)] ?? "";
  const indent = (text: string, by: string): string => text.replaceAll("\n", `\n${by}`);

  const inline = (depth: number): string => {
    const inner = (): string => (depth > 1 ? word() : some(2, () => inline(depth + 1), " "));
    const made = [
      () => some(3, word, " "),
      () => some(3, word, " "),
      () => `**${inner()}**`,
      () => `*${inner()}*`,
      () => `_${inner()}_`,
      () => `~~${inner()}~~`,
      () => `\`${word()}\``,
      () => `[${inner()}](${["https://a.de/x y", "<https://a.de/x y>", "javascript:x", "./a.md"][below(4)]})`,
      () => `![${inner()}](${["a.png", "https://a.de/b.png"][below(2)]})`,
    ];
    return made[below(made.length)]?.() ?? "";
  };
  const line = (): string => some(2, () => inline(0), " ");
  const block = (depth: number): string => {
    const inner = (): string => (depth > 1 ? line() : some(2, () => block(depth + 1), "\n\n"));
    const made = [
      () => some(3, line, "\n"),
      () => `${"#".repeat(1 + below(6))} ${line()}`,
      () => `\`\`\`${["", "ts", "c++ x"][below(3)]}\n${some(3, () => some(3, word, " "), "\n")}\n\`\`\``,
      () => `> ${indent(inner(), "> ")}`,
      () => some(3, () => `- ${["", "[ ] ", "[x] "][below(3)]}${indent(inner(), "  ")}`, "\n"),
      () => some(2, () => `1. ${indent(inner(), "   ")}`, "\n\n"),
      () => `| a | ${word()} |\n|:--|--:|\n${some(4, () => `| ${line()} | ${word()} |`, "\n")}`,
      () => `$$\n${word()}\n$$`,
      () => "---",
      () => `[^${below(3)}]: ${line()}`,
      () => `<div>\n${line()}\n</div>`,
    ];
    return made[below(made.length)]?.() ?? "";
  };
  return some(3, () => block(0), below(5) === 0 ? "\n" : "\n\n");
}
