import { describe, expect, it } from "vitest";
import { priceOf } from "../../src/agent/prices.ts";

const model = (key: string, baseUrl?: string) => {
  const [provider = "", name = ""] = key.split(":");
  return { provider, name, ...(baseUrl === undefined ? {} : { baseUrl }) };
};

describe("what a model costs", () => {
  it.each([
    ["openai:gpt-5", 1.25, 10],
    ["openai:gpt-5-2025-08-07", 1.25, 10],
    ["openai:gpt-5-mini", 0.25, 2],
    ["openai:gpt-4.1-nano", 0.1, 0.4],
    ["openai:gpt-4o-mini-2024-07-18", 0.15, 0.6],
    ["openai:o3", 2, 8],
    ["anthropic:claude-sonnet-4-5-20250929", 3, 15],
    ["anthropic:claude-opus-4-5", 5, 25],
    ["anthropic:claude-opus-4-1", 15, 75],
    ["anthropic:claude-haiku-4-5", 1, 5],
    ["google-genai:gemini-2.5-flash-lite", 0.1, 0.4],
    ["google-genai:gemini-2.5-flash", 0.3, 2.5],
    ["demo:demo", 0, 0],
  ])("is known of %s", (key, input, output) => {
    expect(priceOf({}, model(key))).toMatchObject({ input, output });
  });

  it.each([
    "openai:gpt-6",
    "openai:gpt-4o-audio-preview",
    "anthropic:claude-next",
    "ollama:llama3",
    "else:x",
  ])("is not guessed of %s", (key) => {
    expect(priceOf({}, model(key))).toBeUndefined();
  });

  it("is what the operator says, of whichever model, and of another server's nothing else", () => {
    expect(priceOf({ price: { input: 1, output: 2 } }, model("ollama:llama3"))).toEqual({
      input: 1,
      output: 2,
    });
    expect(priceOf({}, model("openai:gpt-5", "http://127.0.0.1:8000/v1"))).toBeUndefined();
  });
});
