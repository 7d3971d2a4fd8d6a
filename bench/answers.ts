import { random } from "../test/reply/documents.ts";

/** An answer as models write them, so many UTF-16 units long; the same for the same seed. */
export function answerOf(seed: number, length: number): string {
  const next = random(seed);
  let answer = "";
  for (let tries = 0; tries < 3;) {
    const block = `${pick(BLOCKS, next)(next)}\n\n`;
    if (answer.length + block.length > length) tries += 1;
    else answer += block;
  }
  while (answer.length < length) answer += `${sentence(next)} `;
  return answer.slice(0, length).toWellFormed();
}

type Next = () => number;

const WORDS =
  "the river runs below its bank and a kingfisher waits on a branch until small fish come near the surface where light bends so that every dive has to be corrected for what water does with what is seen from above".split(
    " ",
  );
const TERMS = ["refraction", "snake_case_name", "O(n²)", "2 * 3 * 4", "naïve", "e.g. this", "100 %", "a < b"];
const OTHERS = [
  "光の屈折を補正する",
  "翠鸟在树枝上等待",
  "물총새가 기다린다",
  "Größenverhältnis",
  "مرحبا بالعالم",
];
const EMOJI = ["🐟", "✅", "👩‍🔬", "🇩🇪", "1️⃣", "⚠️"];
const CODE = [
  "export async function dive(from: Perch, to: Fish): Promise<Catch> {",
  "  const angle = refract(from.height, to.depth); // Snell's law",
  "  if (angle > LIMIT) return { caught: false, why: `too steep: ${angle}` };",
  "  return await strike(from, to, { angle, speed: 40 * 1_000 });",
  "}",
  "",
  "for (const fish of river.fish.filter(({ size }) => size < 70)) {",
  "  console.log(fish.name, fish.size, \"**not bold**\", '<b>no tag</b>');",
];

const BLOCKS: readonly ((next: Next) => string)[] = [
  paragraph,
  paragraph,
  paragraph,
  (next) => `${"#".repeat(2 + below(next, 2))} ${words(next, 4)}`,
  (next) => many(next, 3, 4, () => `- **${words(next, 2)}**: ${sentence(next)}`, "\n"),
  (next) => many(next, 2, 3, () => `- ${sentence(next)}\n  - ${words(next, 5)}\n  - ${words(next, 6)}`, "\n"),
  (next) => Array.from({ length: 3 + below(next, 3) }, (_, at) => `${at + 1}. ${sentence(next)}`).join("\n"),
  (next) => many(next, 2, 3, () => `- [${below(next, 2) === 0 ? "x" : " "}] ${words(next, 5)}`, "\n"),
  (next) => `\`\`\`ts\n${many(next, 4, 6, () => pick(CODE, next), "\n")}\n\`\`\``,
  (next) =>
    `| species | ${pick(OTHERS, next)} | dives |\n| --- | :--: | ---: |\n${many(
      next,
      3,
      4,
      () => `| ${words(next, 2)} | ${pick(EMOJI, next)} \`${below(next, 90)}\` | ${below(next, 1000)} |`,
      "\n",
    )}`,
  (next) => `> ${sentence(next)}\n> ${sentence(next)}`,
];

function paragraph(next: Next): string {
  return many(next, 2, 4, () => sentence(next), " ");
}

function sentence(next: Next): string {
  const said = `${words(next, 6)} ${pick(INLINE, next)(next)} ${words(next, 5)}.`;
  return said.charAt(0).toUpperCase() + said.slice(1);
}

const INLINE: readonly ((next: Next) => string)[] = [
  (next) => words(next, 3),
  (next) => words(next, 3),
  (next) => `**${words(next, 2)}**`,
  (next) => `*${words(next, 2)}*`,
  (next) => `\`${pick(TERMS, next)}\``,
  (next) => pick(TERMS, next),
  (next) => pick(OTHERS, next),
  (next) => pick(EMOJI, next),
  (next) => `[${words(next, 2)}](https://example.org/birds/${below(next, 1000)}?q=a_b&page=2)`,
  (next) => `(see https://example.org/${below(next, 1000)})`,
];

function words(next: Next, most: number): string {
  return many(next, 1, most, () => pick(WORDS, next), " ");
}

function many(next: Next, least: number, more: number, make: () => string, between: string): string {
  return Array.from({ length: least + below(next, more) }, make).join(between);
}

function pick<T>(of: readonly T[], next: Next): T {
  return of[below(next, of.length)] as T; // within the length
}

function below(next: Next, count: number): number {
  return Math.floor(next() * count);
}
