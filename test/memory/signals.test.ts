import { describe, expect, it } from "vitest";
import { signalsIn } from "../../src/memory/signals.ts";

describe("what a person's own words say of what is remembered", () => {
  it.each([
    "That's wrong, I live in Basel.",
    "That’s not right.",
    "no, I meant the other one",
    "No. I said Tuesday",
    "Actually I moved",
    "You're mistaken, it was May",
    "you misunderstood me",
    "I never said that",
    "I don't work there, not any more",
    "let me correct that: it is 12",
    "Das stimmt nicht, ich wohne in Basel.",
    "das ist falsch",
    "Nein, ich meinte den anderen",
    "Da irrst du dich",
    "Falsch: am Dienstag",
    "Ich wohne nicht mehr in Bern",
    "nicht Bern, sondern Basel",
  ])("takes %j for a correction", (said) => {
    expect(signalsIn(said)).toEqual(["correction"]);
  });

  it.each([
    "Exactly!",
    "perfect, thanks",
    "Yes, that's right",
    "You are right",
    "I like that, keep doing it",
    "great, just what I needed",
    "Genau.",
    "Perfekt, danke",
    "Das stimmt",
    "Ja, so ist es",
    "Du hast recht",
    "weiter so!",
  ])("takes %j for a reinforcement", (said) => {
    expect(signalsIn(said)).toEqual(["reinforcement"]);
  });

  it.each([
    "",
    "What is the capital of France?",
    "no problem",
    "No worries, see you",
    "Nein danke",
    "Ich wohne in Bern",
    "Kannst du das übersetzen?",
    "I live in Bern",
    "knowledge and exactitude",
    `${"a".repeat(400)} that's wrong`,
  ])("hears nothing in %j", (said) => {
    expect(signalsIn(said)).toEqual([]);
  });
});
