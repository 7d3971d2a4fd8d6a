import { expect } from "vitest";
import sharp from "sharp";
import { fileTypeFromBuffer } from "file-type";
import type { Asked, Sent } from "../support/models/asked.ts";
import type { Case, Expected, ExpectedBlock } from "./cases.ts";
import type { Run } from "./inbound.ts";
import { keysOf, noticesIn } from "./notices.ts";

/** Checks a run against what its case says. Where a case leaves a choice, any of the results that it lists will do. */
export async function checkRun({ area, expected }: Case, run: Run): Promise<void> {
  checkAlways(run);
  await anyOf(
    resultsOf(expected).map((result) => async () => {
      if (result.result === "notice") checkNotice(result, run);
      else await checkContent(result, run, area);
    }),
  );
  const ending = expected.upload_name_ends;
  if (ending !== undefined)
    expect(run.talk.uploads.map(({ file }) => file.name.slice(-ending.length))).toEqual([ending]);
}

/** Passes when one of the checks does; else says what each of them found. */
export async function anyOf(checks: readonly (() => void | Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const check of checks) {
    try {
      return await check();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 1) throw failures[0];
  throw new Error(
    failures.map((error) => (error instanceof Error ? error.message : String(error))).join("\n— or —\n"),
  );
}

function resultsOf(expected: Expected): readonly Expected[] {
  switch (expected.result) {
    case "either":
      return expected.options ?? [];
    case "content":
      return expected.or_error === undefined
        ? [expected]
        : [expected, { result: "notice", error: expected.or_error }];
    default:
      return [expected];
  }
}

/** The turn of a run: there is one. */
export function turnOf({ talk }: Pick<Run, "talk">): Asked {
  expect(talk.asked).toHaveLength(1);
  return talk.asked[0]!; // just counted
}

/** What a turn says in words. */
export function wordsOf(asked: Asked): string {
  return asked.texts.join("\n");
}

/** No turn is empty or has a blank part, the words beside a file stay, and the person gets the answer and no excuse. */
function checkAlways(run: Run): void {
  const { texts, images, files } = turnOf(run);
  expect(texts.length + images.length + files.length).toBeGreaterThan(0);
  expect(texts.filter((text) => text.trim() === "")).toEqual([]);
  const { caption = "" } = run.input;
  if (caption !== "") expect(texts.filter((text) => text.includes(caption))).toHaveLength(1);
  expect(run.talk.shown().map(({ text }) => text)).toContain("Seen.");
}

/** One sentence of the right kind, that names the file, for the model and the person; nothing of the file itself. */
function checkNotice(expected: Expected, run: Run): void {
  const asked = turnOf(run);
  const toPerson = noticesIn(
    run.talk
      .shown()
      .map(({ text }) => text)
      .join("\n"),
  );
  const toModel = noticesIn(wordsOf(asked));
  const notices = [...toPerson, ...toModel];
  expect(notices, `no notice in ${JSON.stringify(wordsOf(asked).slice(0, 500))}`).not.toEqual([]);
  expect([toPerson.length, toModel.length].every((count) => count <= 1)).toBe(true);
  const kinds = [expected.error ?? [], expected.error_also ?? []].flat();
  for (const { key, name, sentence } of notices) {
    expect(keysOf(kinds)).toContain(key);
    expect(name).toMatch(run.filename === undefined ? /^the [a-z ]+$/ : /\w/);
    expect(sentence.length).toBeLessThan(250);
  }
  expect(asked.images).toEqual([]);
  expect(asked.files).toEqual([]);
  for (const words of textsOf(expected)) expect(wordsOf(asked)).toContain(words);
}

export function textsOf({ text_has: has = [] }: Expected): readonly string[] {
  return typeof has === "string" ? [has] : has;
}

async function checkContent(
  { blocks = [], block_count: count }: Expected,
  run: Run,
  area: string,
): Promise<void> {
  const asked = turnOf(run);
  expect(noticesIn(wordsOf(asked))).toEqual([]);
  if (count !== undefined) expect(run.talk.turns[0]?.content).toHaveLength(count);
  const images = blocks.filter(({ type }) => type === "image");
  if (area === "image") expect(asked.images).toHaveLength(images.length);
  else expect(asked.images.length).toBeGreaterThanOrEqual(images.length);
  for (const [at, block] of images.entries()) await checkImage(block, asked.images[at]!); // counted above
  for (const block of blocks) if (block.type === "text") checkText(block, wordsOf(asked));
}

export async function checkImage(expected: ExpectedBlock, image: Sent): Promise<void> {
  const real = await fileTypeFromBuffer(image.bytes);
  expect(image.mimeType).toBe(real?.mime);
  expect([expected.mime].flat()).toContain(image.mimeType);
  expect(image.base64Length).toBeLessThanOrEqual(expected.max_base64 ?? 5_242_880);
  const { pages = 1, channels, width, height } = await sharp(image.bytes).metadata();
  expect(Math.max(width, height)).toBeLessThanOrEqual(8_000);
  if (expected.frames !== undefined) expect(pages).toBe(expected.frames);
  if (expected.channels !== undefined) expect(channels).toBe(expected.channels);
}

// "[… 203318 bytes of 305718 left out …]", however it is worded: a bracket of its own with a number in it.
const CUT = /^\[[^\]\n]*…[^\]\n]*\d[^\]\n]*\]$/m;

function checkText(expected: ExpectedBlock, words: string): void {
  expect(words.trim()).not.toBe("");
  for (const part of expected.has ?? []) expect(words).toContain(part);
  for (const part of expected.lacks ?? []) expect(words).not.toContain(part);
  if (expected.max_bytes !== undefined)
    expect(Buffer.byteLength(words)).toBeLessThanOrEqual(expected.max_bytes);
  if (expected.truncation_mark) expect(words).toMatch(CUT);
  if (expected.well_formed) expect(words.isWellFormed()).toBe(true);
}
