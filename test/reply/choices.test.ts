import { afterEach, describe, expect, it } from "vitest";
import type { AgentAnswer } from "../../src/core/agent.ts";
import type { PieceBody } from "../../src/core/channel.ts";
import { withChoices } from "../../src/reply/choices.ts";
import { OUTCOME_LENGTH } from "../../src/store/choices.ts";
import { manualClock } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway } from "../support/gateway.ts";
import { ToyPlatform, toyKind } from "../support/toy-channel.ts";
import { photo, text } from "./delivery.ts";

const textOf = (body: PieceBody | undefined): string => (body?.kind === "text" ? body.rendered.text : "");

async function toy(choices?: number) {
  const platform = new ToyPlatform(choices === undefined ? {} : { choices });
  return await toyKind(platform).open({}, { id: "toy" } as never); // it is not used here
}

describe("what an agent offers below its answer", () => {
  it("belongs to its last text, as buttons", async () => {
    const answer = [text("one"), text("two"), photo("a")];
    expect(withChoices(answer, ["Tea", "Coffee"], await toy(3))).toEqual({
      bodies: answer,
      labels: ["Tea", "Coffee"],
    });
  });

  it("gets a text where the answer has none", async () => {
    const { bodies, labels } = withChoices([photo("a")], ["Tea", "Coffee"], await toy(3));
    expect(bodies).toEqual([photo("a"), text("Please choose.")]);
    expect(labels).toEqual(["Tea", "Coffee"]);
  });

  it.each([undefined, 1])(
    "is written out and numbered where the channel has buttons for %s",
    async (most) => {
      const { bodies, labels } = withChoices([text("Which?")], ["Tea", "*Coffee*"], await toy(most));
      expect(bodies).toEqual([text("Which?\n\n1. Tea\n2. *Coffee*")]);
      expect(labels).toBeUndefined();
    },
  );

  it("is a message of its own, written out, where it does not fit below the text", async () => {
    const long = text("a".repeat(190));
    const { bodies } = withChoices([long], ["Tea", "Coffee"], await toy());
    expect(bodies).toEqual([long, text("1. Tea\n2. Coffee")]);
    const last = withChoices([text("Which?"), photo("a")], ["Tea", "Coffee"], await toy());
    expect(last.bodies).toEqual([text("Which?"), photo("a"), text("1. Tea\n2. Coffee")]);
  });

  it("leaves room in its text for what will be chosen", async () => {
    const words = Array.from({ length: 18 }, (_, at) => `sentence ${at}.`).join(" ");
    const { bodies } = withChoices([text(words.slice(0, 200))], ["Tea", "Coffee"], await toy(3));
    expect(bodies.length).toBeGreaterThan(1);
    expect(textOf(bodies.at(-1)).length).toBeLessThanOrEqual(200 - OUTCOME_LENGTH);
    expect(bodies.map(textOf).join(" ")).toBe(words.slice(0, 200));
  });

  it.each([
    [
      ["Tea", " Tea ", "Coffee"],
      ["Tea", "Coffee"],
    ],
    [
      ["a\nb\tc", "d\u0000\u202ee"],
      ["a b c", "d e"],
    ],
    [[" ", "\u200b\u2063", "\u2800", "Tea"], ["Tea"]],
    [["\u{1f468}\u200d\u{1f469}\u200d\u{1f467}"], ["\u{1f468}\u200d\u{1f469}\u200d\u{1f467}"]],
    [[`${"x".repeat(62)}\u{1f468}\u200d\u{1f469}\u200d\u{1f467}y`], [`${"x".repeat(62)}…`]],
    [["x".repeat(64)], ["x".repeat(64)]],
    [["x".repeat(65)], [`${"x".repeat(63)}…`]],
  ])("stands on buttons in one line, each once: %j", async (offered, labels) => {
    expect(withChoices([text("Which?")], offered, await toy(3)).labels).toEqual(labels);
  });

  it("is nothing where nothing is left of it", async () => {
    expect(withChoices([text("Hello")], [" ", "\u0000"], await toy(3))).toEqual({ bodies: [text("Hello")] });
  });

  it("is shortened in little time, whatever is written on it", async () => {
    const channel = await toy(3);
    const begun = performance.now();
    withChoices([text("Which?")], ["e" + "\u0301".repeat(1_000_000)], channel);
    expect(performance.now() - begun).toBeLessThan(1_000);
  });
});

describe("a question", () => {
  const opened: TestGateway[] = [];
  afterEach(async () => {
    for (const gateway of opened.splice(0)) await gateway.close();
  });

  it("is planned with its buttons in one commit, for whoever asked", async () => {
    const clock = manualClock();
    const platform = new ToyPlatform({ choices: 3 });
    const answer: AgentAnswer = {
      markdown: "Which?",
      replayed: false,
      refused: ["a.png"],
      choices: ["Tea", "Coffee"],
    };
    const gateway = await testGateway({
      clock,
      platform,
      agents: [AGENT],
      runner: () => ({
        prepare: () => {},
        senses: async () => ({ images: false, pdf: false, audio: false }),
        run: async () => answer,
      }),
    });
    opened.push(gateway);
    await platform.say("c1", "I am thirsty", { from: { id: "bob", name: "Bob" }, whole: true });
    await clock.advance(0);
    expect(platform.shown).toMatchObject([
      { text: "The model did not take a.png, so I answered without it." },
      { text: "Which?", choices: ["Tea", "Coffee"] },
    ]);
    const { db } = gateway.database;
    const questions = await db.selectFrom("question").selectAll().execute();
    expect(questions).toMatchObject([
      { person: "bob", used_at: 0, rendered: JSON.stringify({ text: "Which?", marks: [] }) },
    ]);
    const choices = await db.selectFrom("choice").selectAll().execute();
    expect(choices.map(({ label, question }) => [label, question])).toEqual([
      ["Tea", questions[0]?.id],
      ["Coffee", questions[0]?.id],
    ]);
    const keys = choices.map(({ key }) => key);
    expect(new Set(keys).size).toBe(2);
    for (const key of keys) expect(key).toMatch(/^\w{8}$/);
  });
});
