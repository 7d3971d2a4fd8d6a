import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { correctionMessage } from "../../../src/agent/messages.ts";
import { withShortArguments } from "../../../src/agent/window/arguments.ts";

const LONG = "line of a file\n".repeat(1_000);
const human = (id: string): BaseMessage => new HumanMessage({ id, content: id });

function wrote(id: string, text = LONG): AIMessage {
  const message = new AIMessage({
    id,
    name: "helper",
    content: [
      { type: "text", text: "I write it down." },
      { type: "tool_use", id: `c-${id}`, name: "write_file", input: { path: "/a.txt", content: text } },
    ],
    tool_calls: [
      { id: `c-${id}`, name: "write_file", args: { path: "/a.txt", content: text, more: [text, 7] } },
    ],
    response_metadata: {
      model_provider: "openai",
      output: [{ type: "function_call", call_id: `c-${id}`, arguments: JSON.stringify({ content: text }) }],
    },
  });
  return Object.assign(message, { usage_metadata: { input_tokens: 7, output_tokens: 1, total_tokens: 8 } });
}

const result = (id: string): BaseMessage => new ToolMessage({ content: "ok", tool_call_id: `c-${id}` });

describe("long arguments of old calls", () => {
  it("are cut wherever they stand, and the message stays itself", () => {
    const messages = [human("1"), wrote("a"), result("a"), human("2"), human("3")];
    const [, cut] = withShortArguments(messages);
    expect(cut).toMatchObject({
      id: "a",
      name: "helper",
      usage_metadata: { input_tokens: 7 },
      response_metadata: { model_provider: "openai" },
    });
    const sent = JSON.stringify(cut?.toDict());
    expect(sent.length).toBeLessThan(3_000);
    const { args } = (cut as AIMessage).tool_calls?.[0] ?? {}; // the second message is the model's
    expect(args).toMatchObject({ path: "/a.txt", more: [expect.stringContaining("more characters"), 7] });
    expect(args?.["content"]).toBe(
      `${LONG.slice(0, 200)}[… ${LONG.length - 200} more characters were written here]`,
    );
    expect(messages[1]).toEqual(wrote("a"));
  });

  it.each<[string, readonly BaseMessage[]]>([
    ["calls of the last two turns", [human("1"), human("2"), wrote("a"), result("a"), human("3")]],
    [
      "corrections of a turn, which are none",
      [human("1"), wrote("a"), correctionMessage({ id: "e", text: "no" }), human("2")],
    ],
    ["short arguments", [human("1"), wrote("a", "short"), human("2"), human("3"), human("4")]],
  ])("leaves %s as they are", (_what, messages) => {
    expect(withShortArguments(messages)).toEqual(messages);
    expect(withShortArguments(messages).every((message, at) => message === messages[at])).toBe(true);
  });
});
