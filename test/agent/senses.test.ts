import { describe, expect, it } from "vitest";
import type { Senses } from "../../src/core/agent.ts";
import { type Profile, sensesOf, sensesOfGraph } from "../../src/agent/senses.ts";

const words = ({ images, pdf, audio }: Senses): string =>
  [images ? "images" : "", pdf ? "pdf" : "", audio ? "audio" : ""].filter((word) => word !== "").join(" ");

/** "openai:gpt-5", or "openai@:name" for a compatible server. */
function takes(model: string, senses?: Partial<Senses>, profile: Profile = {}): string {
  const [, provider = "", at, name = ""] = /^([^:@]+)(@?):(.+)$/.exec(model) ?? [];
  const choice = { provider, name, ...(at === "@" ? { baseUrl: "http://127.0.0.1/v1" } : {}) };
  return words(sensesOf({ model: choice, ...(senses === undefined ? {} : { senses }) }, profile));
}

describe("what a model takes as it is", () => {
  it.each([
    ["openai:gpt-5", "images pdf"],
    ["openai:gpt-4o-mini-2024-07-18", "images pdf"],
    ["openai:gpt-4.1", "images pdf"],
    ["openai:gpt-5-codex", "images pdf"],
    ["openai:gpt-4o-audio-preview", "audio"],
    ["openai:gpt-audio", "audio"],
    ["openai:gpt-4", ""],
    ["openai:gpt-4-0613", ""],
    ["openai:gpt-4-turbo", "images pdf"],
    ["openai:gpt-3.5-turbo", ""],
    ["openai:o3-mini", ""],
    ["openai:o3", "images pdf"],
    ["anthropic:claude-sonnet-4-5", "images pdf"],
    ["anthropic:claude-3-5-sonnet-latest", "images pdf"],
    ["anthropic:claude-3-haiku-20240307", "images"],
    ["anthropic:claude-2.1", ""],
    ["google-genai:gemini-2.5-flash", "images pdf audio"],
    ["google-genai:gemma-3-27b-it", "images"],
    ["ollama:llava:13b", "images"],
    ["ollama:gemma3:4b", "images"],
    ["ollama:gemma3:1b", ""],
    ["ollama:gemma3:270m", ""],
    ["ollama:gemma3n:e4b", ""],
    ["ollama:gemma2:9b", ""],
    ["ollama:qwen2.5vl:7b", "images"],
    ["ollama:qwen3-vl:8b", "images"],
    ["ollama:qwen2.5-coder:7b", ""],
    ["ollama:qwen3:8b", ""],
    ["ollama:llama3.2-vision:11b", "images"],
    ["ollama:llama3.2:3b", ""],
    ["ollama:llama3:8b", ""],
    ["ollama:llama4:scout", "images"],
    ["ollama:minicpm-v:8b", "images"],
    ["ollama:mistral-small3.2:24b", "images"],
    ["ollama:mistral:7b", ""],
    ["ollama:gpt-oss:20b", ""],
    ["ollama:deepseek-r1:8b", ""],
    ["ollama:granite3.2-vision:2b", "images"],
    ["ollama:a-model-of-next-year", "images"],
    ["openai@:a-model-of-next-year", "images"],
    ["openai@:deepseek-chat", ""],
    ["openai@:qwen-vl-max", "images"],
    ["openai@:meta-llama/Llama-3.1-8B-Instruct", ""],
    ["openai@:Qwen/Qwen2.5-VL-7B-Instruct", "images"],
    ["openai@:openai/gpt-4o", "images"],
    ["openai@:mistral-small-latest", "images"],
    ["demo:demo", "images pdf audio"],
    ["nobody:x", ""],
  ])("is known of %s: %s", (model, expected) => {
    expect(takes(model)).toBe(expected);
  });

  it("is no more than the profile says no to", () => {
    expect(takes("openai:gpt-6", undefined, { imageInputs: false })).toBe("pdf");
    expect(takes("openai:gpt-6", undefined, { imageInputs: true, audioInputs: true })).toBe("images pdf");
  });

  it("is what the operator says, over the table and the profile", () => {
    expect(takes("ollama:gpt-oss:20b", { images: true })).toBe("images");
    expect(takes("openai@:my-whisper-llm", { audio: true, pdf: true })).toBe("images pdf audio");
    expect(takes("openai:gpt-5", { images: false }, { imageInputs: true })).toBe("pdf");
    expect(takes("openai:o3-mini", { images: true }, { imageInputs: false })).toBe("images");
  });

  it("is never what would be dropped on the way to the provider", () => {
    const all = { images: true, pdf: true, audio: true };
    expect(takes("anthropic:claude-sonnet-4-5", all)).toBe("images pdf");
    expect(takes("ollama:llava:13b", all)).toBe("images");
    expect(takes("openai:gpt-5-codex", all)).toBe("images pdf");
  });

  it("is everything for an operator's graph, unless they say otherwise", () => {
    expect(words(sensesOfGraph({}))).toBe("images pdf audio");
    expect(words(sensesOfGraph({ senses: { audio: false } }))).toBe("images pdf");
  });
});
