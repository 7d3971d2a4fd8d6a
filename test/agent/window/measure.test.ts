import { tool } from "@langchain/core/tools";
import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  fixedTokens,
  guessedUse,
  measureOf,
  type Measuring,
  windowUse,
} from "../../../src/agent/window/measure.ts";
import { noteGuess } from "../../../src/agent/window/tokens.ts";
import { definition } from "../set-up.ts";

const BY: Measuring = { agent: definition(), choice: { provider: "openai", name: "local" }, window: 8_000 };
const asked = new HumanMessage({ id: "1", content: "x".repeat(400) });

function answered(counted?: { readonly input: number; readonly output: number }): BaseMessage {
  const answer = new AIMessage({ id: "2", content: "y".repeat(40) });
  noteGuess(answer, { tokens: 150, fixed: 46, model: "openai:local" });
  if (!counted) return answer;
  const usage_metadata = { input_tokens: counted.input, output_tokens: counted.output, total_tokens: 0 };
  return Object.assign(answer, { usage_metadata });
}

describe("how full a thread is", () => {
  it.each<[string, readonly BaseMessage[], { tokens: number; estimated: boolean }]>([
    [
      "as the provider has counted",
      [asked, answered({ input: 300, output: 20 })],
      { tokens: 320, estimated: false },
    ],
    ["by the guess where it does not count", [asked, answered()], { tokens: 164, estimated: true }],
    ["by length where nothing was asked yet", [asked], { tokens: 104, estimated: true }],
    [
      "by length and the last count where something came after it",
      [asked, answered({ input: 300, output: 20 }), asked],
      { tokens: 2 * (46 + 104 + 14 + 104), estimated: true },
    ],
    ["as nothing where there is nothing", [], { tokens: 0, estimated: true }],
  ])("is told %s", (_what, messages, use) => {
    expect(windowUse(messages, BY)).toEqual({ ...use, messages: messages.length, window: 8_000 });
  });

  it.each([
    [{ input: 300.4, output: 20.3 }, 320],
    [{ input: 1e300, output: 1e300 }, 2_000_000_000],
  ])("is a whole number that a database takes, whatever a server counts: %j", (counted, tokens) => {
    expect(windowUse([asked, answered(counted)], BY)).toMatchObject({ tokens, estimated: false });
  });

  it("is guessed with the summary that stands for earlier messages", () => {
    const summary = { text: "z".repeat(400), path: "", times: 1 };
    const without = guessedUse([asked], undefined, BY).tokens;
    expect(guessedUse([asked], summary, BY).tokens).toBeGreaterThan(without + 100);
  });
});

it("measures messages by how far the last count was from the guess", () => {
  const thread = [asked, answered({ input: 300, output: 20 })];
  expect(measureOf(thread, BY).tokensOf(asked)).toBe(208);
  expect(measureOf([asked], BY).tokensOf(asked)).toBe(104);
});

it("counts the prompt, and tools with all that is told of them", () => {
  const look = tool(async () => "", {
    name: "look",
    description: "d".repeat(400),
    schema: z.object({ at: z.string() }),
  });
  const prompt = new SystemMessage("p".repeat(40));
  expect(fixedTokens(prompt, [])).toBe(14);
  expect(fixedTokens(prompt, [look])).toBeGreaterThan(114);
  expect(fixedTokens(prompt, [look])).toBe(fixedTokens(prompt, [look]));
});
