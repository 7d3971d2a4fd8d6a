import { AIMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { say } from "../../../src/core/sentences.ts";
import { stopOf, stopThrown } from "../../../src/agent/harness/stops.ts";
import type { Answer } from "../../support/models/server.ts";
import { closeServers, served, type Served, type WireName } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;
const CALL = { name: "write_todos", args: { todos: [{ content: "buy milk", status: "completed" }] } };

/** One turn, streamed to people or not; gives the answer. */
async function ask(world: Served, id: string, said: string, streams = false): Promise<string> {
  const asked = { ...turn(world.agent, id, said), language: "de" as const };
  const answer = await world.runner.run(streams ? { ...asked, onText: () => {} } : asked, never);
  return answer.markdown;
}

const body = ({ server }: Served, at = -1): string => JSON.stringify(server.requests.at(at)?.body ?? {});

const REFUSAL: Readonly<Record<WireName, string>> = {
  openai: "content_filter",
  responses: "content_filter",
  anthropic: "refusal",
  google: "SAFETY",
  ollama: "content_filter",
};
const LENGTH: Readonly<Record<WireName, string>> = {
  openai: "length",
  responses: "max_output_tokens",
  anthropic: "max_tokens",
  google: "MAX_TOKENS",
  ollama: "length",
};
const WIRES = ["openai", "responses", "anthropic", "google", "ollama"] as const satisfies readonly WireName[];

const STREAMED = ["whole", "streamed"] as const;

describe.each(WIRES)("what a model says that it could not finish, over %s", (wire) => {
  it.each(STREAMED)("runs no call of a refused answer and sends no trace of it again (%s)", async (how) => {
    const world = await served(wire, { todos: true });
    world.server.reply({ toolCalls: [CALL], finish: REFUSAL[wire] }, "gern");
    expect(await ask(world, "1", "hallo", how === "streamed")).toBe(say("answer.refused", "de"));
    expect(world.server.requests).toHaveLength(1);
    expect(await ask(world, "2", "und jetzt?")).toBe("gern");
    expect(body(world)).not.toContain("buy milk");
  });

  it.each(STREAMED)("says below a text that it was cut (%s)", async (how) => {
    const world = await served(wire);
    world.server.reply({ text: "Erstens, zweitens", finish: LENGTH[wire] }, "drittens");
    expect(await ask(world, "1", "zähle", how === "streamed")).toBe(
      `Erstens, zweitens\n\n_${say("answer.cut_here", "de")}_`,
    );
    expect(await ask(world, "2", "weiter")).toBe("drittens");
    expect(body(world)).toContain("Erstens, zweitens");
  });

  it.each(STREAMED)("does not run the calls of a cut answer, and asks for smaller ones (%s)", async (how) => {
    const world = await served(wire, { todos: true });
    world.server.reply({ text: "I write.", toolCalls: [CALL], finish: LENGTH[wire] }, "kürzer");
    expect(await ask(world, "1", "hallo", how === "streamed")).toBe("kürzer");
    expect(world.server.requests).toHaveLength(2);
    expect(body(world)).toContain("none of its calls was run");
    expect(body(world)).not.toContain("buy milk");
  });

  it.each(STREAMED)("asks once more for a blank answer (%s)", async (how) => {
    const world = await served(wire);
    world.server.reply({ text: "" }, "da bin ich", "schön");
    expect(await ask(world, "1", "hallo", how === "streamed")).toBe("da bin ich");
    expect(body(world)).toContain("your last message was empty");
    expect(await ask(world, "2", "und?", how === "streamed")).toBe("schön");
    // Neither what was blank nor the note stands in the thread.
    expect(body(world)).not.toContain("your last message was empty");
  });

  it("explains an answer that is blank twice, and goes on with the next message", async () => {
    const world = await served(wire);
    world.server.reply({ text: " " }, { text: "" }, "wieder da");
    expect(await ask(world, "1", "hallo")).toBe(say("answer.blank", "de"));
    expect(world.server.requests).toHaveLength(2);
    expect(await ask(world, "2", "und?")).toBe("wieder da");
  });
});

describe("an answer that ended early", () => {
  it("says below a text that the provider ended it, and closes its code", async () => {
    const world = await served("openai");
    world.server.reply({ text: "So:\n```js\nlet a", finish: "content_filter" });
    expect(await ask(world, "1", "hallo")).toBe(
      `So:\n\`\`\`js\nlet a\n\`\`\`\n\n_${say("answer.refused_here", "de")}_`,
    );
  });

  it("explains calls that are no JSON again and again, and none of them runs", async () => {
    const world = await served("openai", { todos: true });
    const unreadable = { toolCalls: [{ ...CALL, written: '{"todos": [' }] };
    world.server.reply(unreadable, unreadable, unreadable, "doch");
    expect(await ask(world, "1", "hallo")).toBe(say("answer.blank", "de"));
    expect(await ask(world, "2", "und?")).toBe("doch");
    expect(body(world)).not.toContain("The list is now");
  });

  it("explains a cut answer that says nothing the second time either", async () => {
    const world = await served("anthropic");
    const thinking: Answer = { reasoning: "hm", finish: "max_tokens" };
    world.server.reply(thinking, thinking, "doch");
    expect(await ask(world, "1", "hallo")).toBe(say("answer.cut", "de"));
    expect(await ask(world, "2", "und?")).toBe("doch");
    expect(body(world)).toContain(say("answer.cut", "de"));
    expect(body(world)).not.toContain("thinking");
  });
});

describe("why a model stopped", () => {
  it.each([
    [{ finish_reason: "content_filter" }, {}, "refused"],
    [{ stop_reason: "refusal" }, {}, "refused"],
    [{}, { stop_reason: "refusal" }, "refused"],
    ...[
      "SAFETY",
      "BLOCKLIST",
      "PROHIBITED_CONTENT",
      "SPII",
      "RECITATION",
      "IMAGE_SAFETY",
      "IMAGE_PROHIBITED_CONTENT",
      "IMAGE_RECITATION",
    ].map((reason) => [{ finishReason: reason }, {}, "refused"] as const),
    [{ incomplete_details: { reason: "content_filter" } }, {}, "refused"],
    [{}, { refusal: "I cannot help with that." }, "refused"],
    [{ finish_reason: "length" }, {}, "cut"],
    [{}, { stop_reason: "max_tokens" }, "cut"],
    [{ finishReason: "MAX_TOKENS" }, {}, "cut"],
    [{ incomplete_details: { reason: "max_output_tokens" } }, {}, "cut"],
    [{ done_reason: "length" }, {}, "cut"],
    [{ finish_reason: "stop", incomplete_details: null }, { refusal: null }, undefined],
    [{ finish_reason: "tool_calls" }, {}, undefined],
    [{ stop_reason: "end_turn" }, {}, undefined],
    [{}, {}, undefined],
  ] as const)("reads %j and %j as %s", (metadata, kwargs, stop) => {
    const answer = new AIMessage({
      content: "",
      response_metadata: metadata,
      additional_kwargs: kwargs,
    });
    expect(stopOf(answer)).toBe(stop);
  });

  it.each([
    [{ name: "EmptyContentError", finishReason: "SAFETY" }, "refused"],
    [{ name: "EmptyContentError", blockReason: "PROHIBITED_CONTENT" }, "refused"],
    [{ name: "EmptyContentError", finishReason: "MALFORMED_FUNCTION_CALL" }, "blank"],
    [{ message: "Received empty response from chat model call." }, "blank"],
    [{ message: "no" }, undefined],
  ])("reads %j thrown as %s", (fields, stop) => {
    const thrown = Object.assign(new Error("x"), fields);
    expect(stopThrown(new Error("outer", { cause: thrown }))).toBe(stop);
  });
});
