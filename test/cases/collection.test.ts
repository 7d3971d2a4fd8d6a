import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { COLLECTION, INBOUND, OUTBOUND } from "./cases.ts";

/** Cases of later work, by the work that they belong to. */
const LATER = {
  // Threads over many turns and restarts, and what is remembered of people.
  threads: inWords(`
    IMG-25 THR-01 THR-03 THR-04 THR-05 THR-09 THR-11
    MEM-02 MEM-06 MEM-07 MEM-08 MEM-09 MEM-10 MEM-12 MEM-16 MEM-19 MEM-22 MEM-23 MEM-24`),
};

it("drives each of the 153 cases of the collection here, or says whose it is", () => {
  // Driven by tests of these names, which fail for one that they cannot drive.
  const others = ["spine", "telegram", "whatsapp"].flatMap(
    (work) =>
      JSON.parse(
        readFileSync(join(import.meta.dirname, `../fixtures/cases/${work}.json`), "utf8"),
      ) as readonly { readonly id: string }[],
  );
  const driven = [...INBOUND, ...OUTBOUND, ...others].map(({ id }) => id);
  const all = [...driven, ...Object.values(LATER).flat()];
  expect(all.toSorted()).toEqual(Object.keys(COLLECTION).toSorted());
  expect(all).toHaveLength(153);
  for (const [work, ids] of Object.entries(LATER))
    for (const id of ids) expect([id, COLLECTION[id]]).toEqual([id, work]);
});

function inWords(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
