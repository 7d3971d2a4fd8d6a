import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, it } from "vitest";
import complaints from "./fixtures/complaints.json" with { type: "json" };

// What users of such gateways complain about is a test here: each entry by its number, in the title of at least one `it`.

const ROOT = import.meta.dirname;
/** The first argument of a call that is none of `describe`; in the rows of a table it does not count. */
const TITLE = /(?<!describe)\(\s*(["'`])complaint (\d+): ([^]*?)\1\s*,/g;

type Found = { readonly number: number; readonly file: string; readonly title: string };

const found: readonly Found[] = readdirSync(ROOT, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .flatMap((file) =>
    [...readFileSync(join(ROOT, file), "utf8").matchAll(TITLE)].map(([, , number, title = ""]) => ({
      number: Number(number),
      file: relative(ROOT, join(ROOT, file)),
      title,
    })),
  );

it.each(complaints)("complaint $number, of $kind, is a test: $about", ({ number }) => {
  const tests = found.filter((test) => test.number === number);
  if (process.env["PERCH_COUNTS"])
    for (const { file, title } of tests) console.log(`${number}: ${file}: ${title}`);
  expect(tests, `no test is called "complaint ${number}: …"`).not.toEqual([]);
});

it("no test names a complaint that is not in the list", () => {
  const known = new Set(complaints.map(({ number }) => number));
  expect(found.filter(({ number }) => !known.has(number))).toEqual([]);
});
