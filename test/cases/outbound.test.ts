import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Mark } from "../../src/core/tree.ts";
import { MARKDOWN, OUTBOUND } from "./cases.ts";
import { answer, checkAnswer } from "./outbound.ts";
import { ANSWER_DETAILS, ANSWER_DRIVERS } from "./answer-details.ts";
import { startWorld, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

describe("Markdown of agents on Telegram", () => {
  it.each(MARKDOWN)("comes through: $name", async ({ markdown, expected_plain_text, server_entities }) => {
    const talk = await world.talk({ platform: "telegram", says: markdown });
    await talk.ask("Please.");
    await talk.finish();
    const shown = talk.shown();
    // Their texts are shortened in the file; where they stand says as much.
    const marks = server_entities.map((mark) => ({ ...mark, text: undefined }));
    const isTold = LEADS_NOWHERE.test(expected_plain_text);
    if (shown.length === 1 && !isTold) return expect(shown).toEqual([{ text: expected_plain_text, marks }]);
    // In pieces: each has the marks of what is in it, and a path that leads nowhere is told of in its place.
    expect(bare(shown.map(({ text }) => text).join(""))).toMatch(orMissing(bare(expected_plain_text)));
    const kinds = (all: readonly Mark[]) =>
      new Set(all.map(({ type, language, url }) => `${type} ${language} ${url}`));
    expect(kinds(shown.flatMap((each) => each.marks))).toEqual(kinds(marks));
  });
});

const LEADS_NOWHERE = /\(\.[^()]*\)/;

function bare(text: string): string {
  return text.replaceAll(/\s/g, "");
}

/** A text, or the same with our words for a missing file where it has a relative path in brackets. */
function orMissing(text: string): RegExp {
  const literal = text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(
    `^${literal.replaceAll(/\\\(\\\.[^()]*?([\w\\.]+)\\\)/g, String.raw`(?:$&|\[$1:[^\]]+\])`)}$`,
  );
}

// One after another: what is logged meanwhile is about the one case.
describe("what agents answer", () => {
  for (const one of OUTBOUND) {
    it(`${one.id}: ${one.symptom}`, { timeout: 60_000 }, async () => {
      const driver = ANSWER_DRIVERS[one.id];
      if (driver) return await driver(world, one);
      const answers = await answer(one, world);
      expect(answers).not.toEqual([]);
      for (const given of answers) {
        checkAnswer(one, given);
        await ANSWER_DETAILS[one.id]?.(given);
      }
    });
  }
});
