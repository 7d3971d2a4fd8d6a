import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { ContentBlock } from "../../../src/core/blocks.ts";
import { humanMessage } from "../../../src/agent/messages.ts";
import {
  calibration,
  measured,
  messagesTokens,
  messageTokens,
  noteGuess,
  textTokens,
} from "../../../src/agent/window/tokens.ts";

const PHOTO: ContentBlock = {
  type: "image",
  mimeType: "image/jpeg",
  blob: "sha256:aa",
  bytes: 2_000_000,
  width: 1200,
  height: 900,
};
const CHOICE = { provider: "openai", name: "local" };

describe("what texts take", () => {
  it.each([
    ["twelve letters", "twelve words", 3],
    ["Russian", "привет мир", 5],
    ["Chinese", "你好世界", 3],
    ["nothing", "", 0],
  ])("guesses %s by their bytes", (_what, text, tokens) => {
    expect(textTokens(text)).toBe(tokens);
  });
});

describe("what messages take", () => {
  it.each<[string, BaseMessage, number]>([
    ["text", new HumanMessage("x".repeat(400)), 104],
    [
      "calls with their arguments",
      new AIMessage({ content: "", tool_calls: [{ id: "1", name: "look", args: { at: "y".repeat(385) } }] }),
      104,
    ],
    ["results", new ToolMessage({ content: "z".repeat(40), tool_call_id: "1" }), 14],
    [
      "a picture's bytes in a request as a picture, never as text",
      new HumanMessage({
        content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(400_000)}` } }],
      }),
      1_604,
    ],
    [
      "calls once, though some providers write them twice",
      new AIMessage({
        content: [{ type: "tool_use", id: "1", name: "look", input: { at: "y".repeat(385) } }],
        tool_calls: [{ id: "1", name: "look", args: { at: "y".repeat(385) } }],
      }),
      104,
    ],
  ])("counts %s", (_what, message, tokens) => {
    expect(messageTokens(message)).toBe(tokens);
  });

  it("counts media of the last turns as what they are, older ones as the words for them", () => {
    const asked = (id: string) => humanMessage(id, { content: [PHOTO], sentAt: "" }, false);
    const [old = 0, recent = 0] = messagesTokens([asked("1"), asked("2")], 1);
    expect(recent - old).toBe(1_440);
    expect(old).toBeLessThan(40);
  });
});

describe("the measure of guesses", () => {
  const answered = (guess: number, input?: number, model = "openai:local"): BaseMessage => {
    const usage =
      input === undefined ? undefined : { input_tokens: input, output_tokens: 1, total_tokens: input + 1 };
    const answer = Object.assign(new AIMessage("Yes."), { usage_metadata: usage });
    noteGuess(answer, { tokens: guess, fixed: 0, model });
    return answer;
  };
  it.each<[string, readonly BaseMessage[], number]>([
    ["what the provider has counted of the last request", [answered(100, 50), answered(100, 150)], 1.5],
    ["no count at all", [answered(100)], 1],
    ["a thread that nothing was guessed of", [new AIMessage("Yes.")], 1],
    ["another model's count", [answered(100, 300, "openai:other")], 1],
    ["a server that counts wildly", [answered(100, 100_000)], 3],
    ["a server that counts next to nothing", [answered(100, 1)], 0.3],
  ])("goes by %s", (_what, messages, factor) => {
    expect(calibration(measured(messages, CHOICE))).toBe(factor);
  });

  it("survives being written down with the thread", () => {
    const answer = answered(100, 200);
    const json = JSON.stringify(answer.toJSON());
    expect(json).toContain('"perchGuess":{"tokens":100,"fixed":0,"model":"openai:local"}');
  });
});
