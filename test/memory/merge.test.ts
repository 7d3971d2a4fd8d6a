import { describe, expect, it } from "vitest";
import type { Fact, FactDraft } from "../../src/core/memory.ts";
import { merged } from "../../src/memory/merge.ts";

const NOW = Date.parse("2026-03-01T00:00:00Z");
const BY = { now: NOW, firstAt: NOW - 60_000, mostFacts: 10, since: 0 };

function fact(id: number, content: string, saidAt: string, confidence = 0.8): Fact {
  return { id, content, confidence, saidAt: new Date(saidAt).toISOString() };
}

function draft(content: string, saidAt: string, more: Partial<FactDraft> = {}): FactDraft {
  return { content, saidAt, confidence: 0.8, replaces: [], ...more };
}

/** What is there after it, in words. */
function after(known: readonly Fact[], drafts: readonly FactDraft[], by: Partial<typeof BY> = {}): string[] {
  const { added, changed, removed } = merged(known, drafts, { ...BY, ...by });
  const kept = known.filter(({ id }) => !removed.includes(id));
  const all = [...kept.map((each) => changed.find(({ id }) => id === each.id) ?? each), ...added];
  return all.map(({ content }) => content);
}

const BERN = fact(1, "lives in Bern", "2026-01-01");
const BASEL = fact(2, "lives in Basel", "2026-02-01");

describe("what becomes of facts", () => {
  it("adds what is new, in one line and of bounded length", () => {
    expect(after([BERN], [draft("likes\n tea", "2026-02-01")])).toEqual(["lives in Bern", "likes tea"]);
    expect(after([], [draft("x".repeat(900), "2026-02-01")])[0]).toHaveLength(500);
  });

  it("lets what was said later take the place of what it contradicts", () => {
    expect(after([BERN], [draft("lives in Basel", "2026-02-01", { replaces: [1] })])).toEqual([
      "lives in Basel",
    ]);
  });

  it("drops what was said before that which it contradicts, whatever the order in which it is gone through", () => {
    expect(after([BASEL], [draft("lives in Bern", "2026-01-01", { replaces: [2] })])).toEqual([
      "lives in Basel",
    ]);
  });

  it("goes by when things were said also within one answer", () => {
    const both = [
      draft("lives in Basel", "2026-02-20", { replaces: [1] }),
      draft("lives in Chur", "2025-12-01", { replaces: [1] }),
    ];
    expect(after([BERN], both)).toEqual(["lives in Basel"]);
  });

  it("names no facts but those of this owner", () => {
    expect(after([BERN], [draft("likes tea", "2026-02-01", { replaces: [99] })])).toEqual([
      "lives in Bern",
      "likes tea",
    ]);
  });

  it("takes the same in other signs for one fact, the surer and the later of the two", () => {
    const { added, changed, removed } = merged(
      [BERN],
      [draft("Lives in  BERN.", "2026-02-01", { confidence: 0.95, replaces: [1] })],
      BY,
    );
    expect({ added, removed }).toEqual({ added: [], removed: [] });
    expect(changed).toEqual([{ ...BERN, confidence: 0.95, saidAt: "2026-02-01T00:00:00.000Z" }]);
  });

  it("takes the same twice in one answer for one", () => {
    expect(after([], [draft("likes tea", "2026-02-01"), draft("Likes tea!", "2026-02-02")])).toEqual([
      "likes tea",
    ]);
  });

  it.each([
    [7, 1],
    [-3, 0],
    [Number.NaN, 0.5],
    [0.4, 0.4],
  ])("reads a confidence of %f as %f", (confidence, kept) => {
    expect(merged([], [draft("likes tea", "2026-02-01", { confidence })], BY).added[0]?.confidence).toBe(
      kept,
    );
  });

  it.each([
    ["", "2026-02-28T23:59:00.000Z"],
    ["1970-01-01T00:00:00Z", "2026-02-28T23:59:00.000Z"],
    ["2031-01-01T00:00:00Z", "2026-03-01T00:00:00.000Z"],
  ])("dates what was said at %j at %s", (said, kept) => {
    expect(merged([], [draft("likes tea", said)], BY).added[0]?.saidAt).toBe(kept);
  });

  it("leaves out what is no word", () => {
    expect(after([], [draft(" … ", "2026-02-01"), draft("", "2026-02-01")])).toEqual([]);
  });

  it("keeps at most so many: what nobody was sure of and was said long ago goes first", () => {
    const known = [
      fact(1, "old and unsure", "2025-03-01", 0.3),
      fact(2, "old and sure", "2025-03-01", 1),
      fact(3, "new and unsure", "2026-02-28", 0.3),
    ];
    expect(merged(known, [draft("new", "2026-02-28")], { ...BY, mostFacts: 3 }).removed).toEqual([1]);
  });

  it("takes nothing of what was said until a fact was forgotten", () => {
    const since = Date.parse("2026-02-10");
    expect(
      after([], [draft("likes tea", "2026-02-10"), draft("likes rain", "2026-02-11")], { since }),
    ).toEqual(["likes rain"]);
  });
});
