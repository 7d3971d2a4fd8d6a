import { ChatAnthropic } from "@langchain/anthropic";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOllama } from "@langchain/ollama";
import { ChatOpenAI } from "@langchain/openai";
import { AIMessageChunk, type AIMessage, type UsageMetadata } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { z } from "zod";
import { afterEach, describe, expect, it } from "vitest";
import { startAnthropic } from "./anthropic.ts";
import { startGoogle } from "./google.ts";
import { startOllama } from "./ollama.ts";
import { startOpenAi } from "./openai.ts";
import { startResponses } from "./responses.ts";
import type { ModelServer, ModelServerOptions } from "./server.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const look = tool(async () => "seen", {
  name: "look",
  description: "Looks",
  schema: z.object({ at: z.string() }),
});

type Tooled = BaseChatModel & { bindTools: NonNullable<BaseChatModel["bindTools"]> };

/** Each protocol with the real client that speaks it. */
const PROTOCOLS = {
  openai: [
    startOpenAi,
    (url: string): Tooled =>
      new ChatOpenAI({ model: "m", apiKey: "k", maxRetries: 0, configuration: { baseURL: url } }),
  ],
  responses: [
    startResponses,
    (url: string): Tooled =>
      new ChatOpenAI({
        model: "m",
        apiKey: "k",
        maxRetries: 0,
        configuration: { baseURL: url },
        useResponsesApi: true,
      }),
  ],
  anthropic: [
    startAnthropic,
    (url: string): Tooled =>
      new ChatAnthropic({ model: "m", apiKey: "k", maxRetries: 0, anthropicApiUrl: url }),
  ],
  google: [
    startGoogle,
    (url: string): Tooled =>
      new ChatGoogleGenerativeAI({ model: "m", apiKey: "k", maxRetries: 0, baseUrl: url }),
  ],
  ollama: [startOllama, (url: string): Tooled => new ChatOllama({ model: "m", maxRetries: 0, baseUrl: url })],
} as const;

type ProtocolName = keyof typeof PROTOCOLS;
const NAMES = Object.keys(PROTOCOLS) as readonly ProtocolName[]; // of the object above

async function setUp(
  name: ProtocolName,
  options: ModelServerOptions = {},
): Promise<{ server: ModelServer; model: Tooled }> {
  const [start, client] = PROTOCOLS[name];
  const server = await start(options);
  servers.push(server);
  return { server, model: client(server.url) };
}

async function streamed(model: Pick<BaseChatModel, "stream">): Promise<AIMessageChunk> {
  let whole = new AIMessageChunk("");
  for await (const chunk of await model.stream("look there")) whole = whole.concat(chunk);
  return whole;
}

function usage(answer: Pick<AIMessage, "usage_metadata">): UsageMetadata | undefined {
  return answer.usage_metadata;
}

describe.each(NAMES)("the local %s server", (provider) => {
  it("echoes the person's last text when nothing is scripted, and records what it was asked", async () => {
    const { server, model } = await setUp(provider);
    const answer = await model.invoke("hello there");
    expect(answer.text).toBe("hello there");
    expect(usage(answer)?.total_tokens).toBeGreaterThan(0);
    expect(server.requests).toHaveLength(1);
    expect(`${server.requests[0]?.path} ${JSON.stringify(server.requests[0]?.body)}`).toMatch(
      /"model":"m"|models\/m:/,
    );
  });

  it("streams word by word and waits for whoever listens", async () => {
    const { server, model } = await setUp(provider);
    server.reply("one two three");
    const seen: string[] = [];
    server.on("streaming", ({ text }) => void seen.push(text));
    const answer = await streamed(model);
    expect(answer.text).toBe("one two three");
    expect(usage(answer)?.output_tokens).toBeGreaterThan(0);
    expect(seen).toEqual(["one", "one two", "one two three"]);
  });

  it("waits by the clock that it is handed", async () => {
    const waits: number[] = [];
    const clock = {
      now: () => 0,
      after(ms: number, call: () => void) {
        waits.push(ms);
        queueMicrotask(call);
        return { cancel: () => {} };
      },
    };
    const { server, model } = await setUp(provider, { clock });
    server.reply({ text: "one two three", delayMs: 2000, wordMs: 100 });
    expect((await streamed(model)).text).toBe("one two three");
    expect(waits).toEqual([2000, 100, 100]);
  });

  it("calls tools, whole and streamed", async () => {
    const { server, model } = await setUp(provider);
    const scripted = {
      text: "Let me look.",
      toolCalls: [{ name: "look", args: { at: "it" }, id: "call_x" }],
    };
    server.reply(scripted, scripted);
    // Ollama's protocol has no ids; its client makes them.
    const id = provider === "ollama" ? expect.any(String) : "call_x";
    const expected = [expect.objectContaining({ name: "look", args: { at: "it" }, id })];
    const whole = await model.bindTools([look]).invoke("look there");
    expect(whole.tool_calls).toEqual(expected);
    expect((await streamed(model.bindTools([look]) as Pick<BaseChatModel, "stream">)).tool_calls).toEqual(
      expected,
    ); // a bound model streams
  });

  it.each([
    ["an error", { fault: "status", status: 500 } as const, /scripted failure 500/],
    ["a reset before the first byte", { fault: "reset" } as const, /connection|fetch failed/i],
  ])("fails with %s", async (_what, fault, words) => {
    const { server, model } = await setUp(provider);
    server.reply(fault);
    await expect(model.invoke("hello")).rejects.toThrow(words);
    expect((await model.invoke("hello")).text).toBe("hello");
  });
});

// Google's client also rejects a promise that nobody holds, which would end the test run.
describe.each(["openai", "responses", "anthropic", "ollama"] as const)("the local %s server", (provider) => {
  it("breaks off in the middle of a stream", async () => {
    const { server, model } = await setUp(provider);
    const seen: string[] = [];
    server.on("streaming", ({ text }) => void seen.push(text));
    server.reply({ fault: "reset-mid-stream", text: "one two three", words: 2 });
    await expect(streamed(model)).rejects.toThrow(/terminated|connection/i);
    expect(seen).toEqual(["one", "one two"]);
  });
});

// The clients of the other two go on waiting by themselves.
describe.each(["openai", "responses", "anthropic"] as const)("the local %s server", (provider) => {
  it("never answers, until the client goes away", async () => {
    const { server, model } = await setUp(provider);
    server.reply({ fault: "silence" });
    const controller = new AbortController();
    server.on("request", () => controller.abort(new Error("enough")));
    await expect(model.invoke("hello", { signal: controller.signal })).rejects.toThrow(/abort|enough/i);
  });
});
