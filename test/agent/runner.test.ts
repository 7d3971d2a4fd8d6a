import type { HumanMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { startAnthropic } from "../support/models/anthropic.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Json, ModelServer } from "../support/models/server.ts";
import { bench, definition, failure, turn, type Bench } from "./set-up.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function setUp(
  fields: Partial<AgentDefinition> = {},
  provider: "openai" | "anthropic" = "openai",
): Promise<Bench & { server: ModelServer; agent: AgentDefinition }> {
  const server = await (provider === "openai" ? startOpenAi() : startAnthropic());
  servers.push(server);
  const model = { provider, name: "local", baseUrl: server.url, apiKey: "k" };
  return { ...bench(), server, agent: definition({ model, ...fields }) };
}

const sent = (server: ModelServer, at = -1): readonly Json[] =>
  server.requests.at(at)?.body["messages"] as readonly Json[]; // both protocols send them so

const never = new AbortController().signal;

describe("running a turn", () => {
  it("asks the model with the prompt and what was said before, and answers with its text", async () => {
    const { server, agent, say } = await setUp();
    server.reply("Good morning.", "You said hello.");
    expect(await say(agent, "1", "hello")).toBe("Good morning.");
    expect(await say(agent, "2", "what did I say?")).toBe("You said hello.");
    expect(sent(server)).toEqual([
      { role: "system", content: "You help." },
      { role: "user", content: "hello" },
      { role: "assistant", name: "model", content: "Good morning." },
      { role: "user", content: "what did I say?" },
    ]);
  });

  it("shows the text as it grows and asks for a stream only then", async () => {
    const { server, agent, runner, say } = await setUp();
    server.reply("one two three", "whole");
    const shown: string[] = [];
    const answer = await runner.run(
      { ...turn(agent, "1", "count"), onText: (text) => void shown.push(text) },
      never,
    );
    expect(shown).toEqual(["one", "one two", "one two three"]);
    expect(answer).toMatchObject({ markdown: "one two three", replayed: false, refused: [] });
    await say(agent, "2", "again");
    expect(server.requests.map((request) => request.body["stream"] === true)).toEqual([true, false]);
  });

  it("gives an answer that stands in the thread without asking the model again", async () => {
    const { server, agent, runner, say } = await setUp();
    await say(agent, "1", "hello");
    await say(agent, "2", "goodbye");
    expect(await runner.run(turn(agent, "1", "hello"), never)).toMatchObject({
      markdown: "hello",
      replayed: true,
      refused: [],
    });
    expect(await runner.run(turn(agent, "2", "goodbye"), never)).toMatchObject({
      markdown: "goodbye",
      replayed: true,
      refused: [],
    });
    expect(server.requests).toHaveLength(2);
  });

  it("runs a turn that failed again without the message standing twice", async () => {
    const { server, agent, say } = await setUp();
    server.reply({ fault: "status", status: 401 });
    expect((await failure(say(agent, "1", "hello"))).code).toBe("model.failed");
    expect(await say(agent, "1", "hello")).toBe("hello");
    expect(sent(server).map((message) => message["content"])).toEqual(["You help.", "hello"]);
  });

  it("answers a message that failed and was passed by others as the newest", async () => {
    const { server, agent, runner, say } = await setUp();
    server.reply({ fault: "status", status: 401 });
    await failure(say(agent, "1", "first"));
    await say(agent, "2", "second");
    expect(await say(agent, "1", "first")).toBe("first");
    expect(sent(server).map((message) => message["content"])).toEqual([
      "You help.",
      "first",
      "second",
      "second",
      "first",
    ]);
    expect(await runner.run(turn(agent, "1", "first"), never)).toMatchObject({
      markdown: "first",
      replayed: true,
    });
  });

  it("answers with a sentence when the model says nothing, also when it is asked once more", async () => {
    const { server, agent, say } = await setUp();
    server.reply({ text: " " }, { text: "" });
    expect(await say(agent, "1", "hello")).toBe(
      "Sorry, the model gave me no answer to that. Please ask once more.",
    );
    expect(server.requests).toHaveLength(2);
  });

  it("does not let a provider's words out, whole or streamed", async () => {
    const { server, agent, runner } = await setUp();
    const refused = { fault: "status", status: 401 } as const;
    server.reply(refused, refused);
    const message = "openai:local refused the API key (status 401); check the key";
    expect(await failure(runner.run(turn(agent, "1", "hello"), never))).toMatchObject({ message });
    const streaming = { ...turn(agent, "1", "hello"), onText: () => {} };
    expect(await failure(runner.run(streaming, never))).toMatchObject({ code: "model.failed", message });
  });

  it("tries twice more where the model failed on its own side", async () => {
    const { server, agent, say } = await setUp();
    server.reply({ fault: "status", status: 503 });
    expect(await say(agent, "1", "hello")).toBe("hello");
    expect(server.requests).toHaveLength(2);
  });

  it("rejects with the signal's reason when it is aborted, and the next turn works", async () => {
    const { server, agent, runner, say } = await setUp();
    const controller = new AbortController();
    const reason = new Error("stopped by the person");
    server.reply("one two three");
    server.on("streaming", ({ words }) => {
      if (words === 2) controller.abort(reason);
    });
    const streaming = { ...turn(agent, "1", "count"), onText: () => {} };
    await expect(runner.run(streaming, controller.signal)).rejects.toBe(reason);
    expect(await say(agent, "2", "hello")).toBe("hello");
    await expect(runner.run(turn(agent, "3", "x"), controller.signal)).rejects.toBe(reason);
  });

  it("gives calls of tools that are not there a result before the model sees them again", async () => {
    const { server, agent, say } = await setUp({}, "anthropic");
    const look = { text: "Let me look.", toolCalls: [{ name: "gone", args: {}, id: "toolu_1" }] };
    server.reply(look, "There is nothing.");
    expect(await say(agent, "1", "look")).toBe("There is nothing.");
    expect(sent(server)).toMatchObject([
      { role: "user", content: "look" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me look." },
          { type: "tool_use", id: "toolu_1", name: "gone", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_1",
            content: 'Error: there is no tool "gone". You have no tools.',
          },
        ],
      },
    ]);
  });

  it("sends no more of a long thread than the limits say", async () => {
    const limits = { turnSeconds: 60, messages: 4, characters: 1000, mediaTurns: 2 };
    const { server, agent, say } = await setUp({ limits });
    for (let at = 1; at <= 6; at += 1) await say(agent, String(at), `message ${at}`);
    expect(sent(server).map((message) => message["content"])).toEqual([
      "You help.",
      expect.stringContaining("[Summary of what was said here"),
      "message 5",
      "message 5",
      "message 6",
    ]);
  });

  it("builds a definition once and a new one anew", async () => {
    const { server, agent, say } = await setUp();
    await say(agent, "1", "hello");
    await say({ ...agent, prompt: "You help in verse." }, "2", "hello");
    expect(sent(server)[0]).toEqual({ role: "system", content: "You help in verse." });
  });

  it("loads ahead what it can, and leaves it to the turn to tell of what it cannot", async () => {
    const { runner } = await setUp();
    const broken = definition({ model: { provider: "nobody", name: "x" } });
    runner.prepare(broken);
    expect(await failure(runner.run(turn(broken, "1", "hello"), never))).toMatchObject({
      code: "model.unknown",
    });
  });

  it("says what the model of an agent takes, and of one that cannot be built that it takes nothing", async () => {
    const { runner, agent } = await setUp();
    expect(await runner.senses(agent)).toEqual({ images: true, pdf: false, audio: false });
    const broken = definition({ model: { provider: "nobody", name: "x" } });
    expect(await runner.senses(broken)).toEqual({ images: false, pdf: false, audio: false });
    expect(await runner.senses(definition())).toEqual({ images: true, pdf: true, audio: true });
  });

  it("hands the hold to the saver, and lets its refusal through", async () => {
    const { agent, runner, saver } = await setUp();
    const asked = turn(agent, "1", "hello");
    const put = saver.put.bind(saver);
    let held: unknown;
    saver.put = (config, ...rest) => {
      held = config.configurable?.["hold"];
      return put(config, ...rest);
    };
    await runner.run(asked, never);
    expect(held).toEqual(asked.hold);

    const lost = new GatewayError("store.hold_lost", "chat 7 is held by another");
    saver.put = () => Promise.reject(lost);
    await expect(runner.run(turn(agent, "2", "hello"), never)).rejects.toBe(lost);
  });

  it("keeps references in the thread and no bytes", async () => {
    const { agent, blobs, saver, say } = await setUp();
    const blob = await blobs.put(Buffer.from("JPEG"));
    await say(agent, "1", [
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/jpeg", blob, bytes: 4, filename: "a.jpg" },
    ]);
    const tuple = await saver.getTuple({ configurable: { thread_id: "7/helper/1" } });
    const messages = tuple?.checkpoint.channel_values["messages"] as readonly HumanMessage[]; // the graph's channel
    expect(messages[0]?.content).toBe('look\n[image "a.jpg", image/jpeg, 4 bytes]');
    expect(JSON.stringify(tuple)).not.toContain(Buffer.from("JPEG").toString("base64"));
  });
});
