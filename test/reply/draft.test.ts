import { describe, expect, it } from "vitest";
import { draftOf } from "../../src/reply/draft.ts";
import { pause } from "../../src/core/clock.ts";
import { manualClock } from "../support/clock.ts";
import { testGateway } from "../support/gateway.ts";
import { markdownDocument, random } from "./documents.ts";

describe("an answer that is still being written", () => {
  it.each([
    ["Look: ![A chart](chart.png) and on", "Look:  and on"],
    ["Look:\n\n![A chart](outputs/chart.png)\n\nand on", "Look:\n\nand on"],
    ["Look: !", "Look: !"],
    ["Look: ![", "Look: "],
    ["Look: ![A ch", "Look: "],
    ["Look: ![A **chart", "Look: "],
    ["Look: ![A [nested] chart", "Look: "],
    ["Look: ![A [nest", "Look: "],
    ["Look: ![A chart]", "Look: "],
    ["Look: ![A chart](", "Look: "],
    ["Look: ![A chart](cha", "Look: "],
    ["Look: ![A chart](<a b", "Look: "],
    ["Look: ![A chart](a(1).p", "Look: "],
    ['Look: ![A chart](a.png "tit', "Look: "],
    ["Look: ![A\nchart](a", "Look: "],
    ["Look: ![A chart][re", "Look: "],
    ["Look: ![A chart][ref] here", "Look:  here"],
    ["> Look: ![A chart](cha", "> Look: "],
    ["- a\n- ![A chart](cha", "- a\n- "],
    ["[![A chart](chart.png)](https://exa", ""],
    ["a [![A chart](chart.png)](https://example.org/full) b", "a  b"],
    ["![a](/outputs/a.png)![b](sandbox:/outputs/b.png) c", "c"],
    ["Look: ![A chart][ref] here\n\n[ref]: <my secret.p", "Look:  here\n"],
    ["Look: ![ref] here\n\n[ref]: secret.png 'tit", "Look:  here\n"],
    ["[ref]: <secret.p", ""],
    ["> [ref]: secret.png (tit", ""],
    ["> a\n> [Ada]: hello there", "> a\n> [Ada]: hello there"],
    ["```\n[ref]: <secret.p", "```\n[ref]: <secret.p"],
    // What is a picture of the net, or no picture, stays.
    ["![logo](https://example.org/a.png) b", "![logo](https://example.org/a.png) b"],
    ["a [link](b.md)", "a [link](b.md)"],
    ["Write `![alt](path)` so", "Write `![alt](path)` so"],
    ["```\n![a](b.png)\n![half](c", "```\n![a](b.png)\n![half](c"],
    ["> ```\n> ![a](b.png)\n> ```\n\n![x](y.png)", "> ```\n> ![a](b.png)\n> ```\n\n"],
    ["    ![a](b.png)\n\nc ![x](y", "    ![a](b.png)\n\nc "],
    ["a \\![b](c.png) ![x](y.png)", "a \\![b](c.png) "],
    ["", ""],
  ])("%j is shown as %j", (markdown, shown) => {
    expect(draftOf(markdown).text).toBe(shown);
  });

  it("shows at no moment a path or half a reference", () => {
    for (const reference of [
      "![A *fine* chart](outputs/secret-plot.png)",
      "![A [fine [deep] chart] x](secret.png)",
      "![A chart](a(secret(1)).png)",
      "![A chart](<a) secret.png>)",
      "![A chart](a\\)secret.png)",
      '![A chart](secret.png "a fine) title")',
      "![A chart](secret.png 'a fine) title')",
      "![A chart](\nsecret.png\n)",
    ]) {
      const answer = `First **words**, then ${reference}, and \`![a](b)\` last.`;
      for (let length = 0; length <= answer.length; length++) {
        const shown = draftOf(answer.slice(0, length)).text;
        expect(shown).not.toMatch(/secret|!\[A|fine/);
      }
      expect(draftOf(answer).text).toBe("First **words**, then , and `![a](b)` last.");
    }
  });

  it("is shown so in the chat, and as typing while there is nothing to show", async () => {
    const clock = manualClock();
    const test = await testGateway({
      clock,
      async answer(turn) {
        for (const text of [
          "![A ch",
          "![A chart](outputs/a.png)\n\nHere",
          "![A chart](outputs/a.png)\n\nHere, ![b",
        ]) {
          turn.onText?.(text);
          await pause(clock, 1_000);
        }
        return "Here.";
      },
    });
    try {
      await test.platform.say("c1", "hello", { whole: true });
      await clock.advance(10_000);
      const drafts = test.platform.progress.flatMap(({ progress }) =>
        progress.kind === "draft" ? [progress.text] : [],
      );
      expect(drafts).toEqual(["Here", "Here, "]);
    } finally {
      await test.close();
    }
  });

  it("is there in time, whatever is written", () => {
    for (let seed = 1; seed <= 300; seed++)
      expect(typeof draftOf(markdownDocument(random(seed))).text).toBe("string");
    for (const hostile of [
      "![".repeat(20_000),
      "![a](".repeat(10_000),
      "[![a](b)]".repeat(5_000),
      "!".repeat(50_000),
    ])
      expect(typeof draftOf(hostile).text).toBe("string");
  });
});
