import { describe, expect, it } from "vitest";
import type { ModelChoice } from "../../../src/core/agent.ts";
import { windowOf } from "../../../src/agent/window/models.ts";

const local = "http://127.0.0.1:8080/v1";

describe("what a model takes at once", () => {
  it.each<[string, string, number]>([
    ["openai", "gpt-4o-mini-2024-07-18", 128_000],
    ["openai", "gpt-4-0613", 8_192],
    ["openai", "gpt-4.1-mini", 1_047_576],
    ["openai", "gpt-5-mini", 400_000],
    ["openai", "o4-mini", 200_000],
    ["openai", "gpt-3.5-turbo", 16_385],
    ["anthropic", "claude-3-5-sonnet-latest", 200_000],
    ["google-genai", "gemini-2.5-flash", 1_048_576],
    ["google-genai", "gemma-3-27b-it", 131_072],
    ["ollama", "llama3.1", 4_096],
    ["demo", "demo", 32_768],
  ])("is told of %s:%s by our table", (provider, name, window) => {
    expect(windowOf({}, { provider, name }, {})).toBe(window);
  });

  it.each<[string, ModelChoice, number]>([
    [
      "a model that somebody serves themselves",
      { provider: "openai", name: "my-llama", baseUrl: local },
      32_768,
    ],
    [
      "a model of a company behind another address",
      { provider: "openai", name: "deepseek-chat", baseUrl: "https://api.deepseek.com" },
      128_000,
    ],
    [
      "a model behind a router",
      { provider: "openai", name: "anthropic/claude-sonnet-4", baseUrl: "https://router.example/v1" },
      200_000,
    ],
  ])("is taken with care of %s", (_what, choice, window) => {
    expect(windowOf({}, choice, {})).toBe(window);
  });

  it("is what langchain knows before our table, and what the operator says before both", () => {
    const choice = { provider: "openai", name: "gpt-5.5" };
    expect(windowOf({}, choice, { maxInputTokens: 1_050_000 })).toBe(1_050_000);
    expect(windowOf({ contextTokens: 50_000 }, choice, { maxInputTokens: 1_050_000 })).toBe(50_000);
  });
});
