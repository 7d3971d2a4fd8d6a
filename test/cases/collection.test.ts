import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { COLLECTION, INBOUND, OUTBOUND } from "./cases.ts";

const TESTS = join(import.meta.dirname, "..");

/** Cases of threads and of memory are tests that have the case's id for the beginning of their names. */
const BY_NAME: Readonly<Record<string, readonly string[]>> = {
  "cases/threads.test.ts": ["IMG-25", "THR-01", "THR-03", "THR-05", "THR-09", "THR-11", "MEM-02", "MEM-19"],
  "cases/threads-killed.test.ts": ["THR-04", "MEM-09", "MEM-22"],
  "memory/memory.test.ts": ["MEM-06", "MEM-08", "MEM-10", "MEM-12", "MEM-16", "MEM-23", "MEM-24"],
  // A thousand rounds of the race alone: the real queue, database and dispatcher, on a clock that counts its timers.
  "memory/queue.test.ts": ["MEM-07"],
};

it("drives each of the 153 cases of the collection, and leaves none for later", () => {
  // Driven by tests of these names, which fail for one that they cannot drive.
  const lines = ["spine", "telegram", "whatsapp"].flatMap(
    (work) =>
      JSON.parse(readFileSync(join(TESTS, `fixtures/cases/${work}.json`), "utf8")) as readonly {
        readonly id: string;
      }[],
  );
  const named = Object.values(BY_NAME).flat();
  const driven = [...[...INBOUND, ...OUTBOUND, ...lines].map(({ id }) => id), ...named];
  expect(driven.toSorted()).toEqual(Object.keys(COLLECTION).toSorted());
  expect(driven).toHaveLength(153);
  expect(named.toSorted()).toEqual(
    Object.keys(COLLECTION)
      .filter((id) => COLLECTION[id] === "threads")
      .toSorted(),
  );
});

it.each(Object.entries(BY_NAME))("%s has a test for each case that is said to be there", (path, ids) => {
  const found = readFileSync(join(TESTS, path), "utf8").matchAll(NAMED);
  const there = new Set([...found].map(([, id = ""]) => id));
  expect(ids.filter((id) => !there.has(id))).toEqual([]);
});

// A test that is skipped, or a comment, is none.
const NAMED = /^ *(?:it\(|\]\)\()?"([A-Z]{3}-\d\d): /gm;
