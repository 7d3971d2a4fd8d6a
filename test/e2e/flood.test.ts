import { expect, it } from "vitest";
import { floodRun } from "../support/flood-run.ts";

const SIZE = process.env["PERCH_LONG"] ? { chats: 50, each: 20 } : { chats: 6, each: 2 };

it(
  "sends every whole answer once and in order while one call in five is refused and one in twenty breaks",
  { timeout: 1_200_000 },
  async () => {
    const counts = await floodRun(SIZE);
    if (process.env["PERCH_COUNTS"]) console.log(JSON.stringify(counts));
    expect(counts).toMatchObject({ lost: [], twice: [], disordered: [], lateEdits: 0, leftovers: 0 });
    expect(counts.storm.rateLimited).toBeGreaterThan(0);
    expect(counts.storm.resetBefore + counts.storm.resetAfter).toBeGreaterThan(0);
    expect(counts.edits).toBeGreaterThan(0);
    expect(counts.drafts).toBeGreaterThan(0);
  },
);
