import { tool } from "@langchain/core/tools";
import { Command, interrupt } from "@langchain/langgraph";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "langchain";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { effectsOnce } from "../../../src/agent/harness/effects.ts";
import type { Calling } from "../../../src/agent/harness/stage.ts";
import type { StoredEffect } from "../../../src/core/effects.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { Database } from "../../../src/store/database.ts";
import { eachDatabase } from "../../support/database.ts";
import { toolBench, toolWords, type ToolBench } from "../tool-bench.ts";
import { failure } from "../set-up.ts";

/** A tool that sends letters, and what it has sent. */
async function post(
  database: Database,
  behave: (to: string) => void = () => {},
): Promise<ToolBench & { readonly sent: string[] }> {
  const sent: string[] = [];
  const send = tool(
    ({ to }) => {
      sent.push(to);
      behave(to);
      return `sent to ${to}`;
    },
    {
      name: "send",
      description: "Sends a letter",
      schema: z.object({ to: z.string() }),
      metadata: { effects: true },
    },
  );
  const look = tool(() => "nothing new", { name: "look", description: "Looks", schema: z.object({}) });
  const bench = await toolBench({ database, tools: [send, look] });
  onTestFinished(bench.close);
  return { ...bench, sent };
}

const call = (id: string, to: string) => ({ id, name: "send", args: { to } });
const unavailable = { fault: "status", status: 401 } as const;

eachDatabase("tools with effects", (open) => {
  it("are called once, and their turn is answered", async () => {
    const { server, say, sent, thread } = await post(await open());
    server.reply({ toolCalls: [call("a", "Ada")] }, "It is sent.");
    expect(await say("1", "write to Ada")).toBe("It is sent.");
    expect(sent).toEqual(["Ada"]);
    expect(await thread()).toEqual([
      "person: write to Ada",
      'model: send({"to":"Ada"})',
      "send: sent to Ada",
      "model: It is sent.",
    ]);
  });

  it("are not called again by another attempt, which goes on from what they gave", async () => {
    const { server, run, say, sent, restart, effects, thread } = await post(await open());
    server.reply({ toolCalls: [call("a", "Ada"), { id: "b", name: "look", args: {} }] });
    // As a process that ends right after the result was written down: nothing of it is in the thread.
    const log = effects("1");
    const lost = new GatewayError("store.hold_lost", "the process is gone");
    const dying = {
      earlier: () => log.earlier(),
      begin: (key: string, step: string) => log.begin(key, step),
      async done(key: string, result: string) {
        await log.done(key, result);
        throw lost;
      },
    };
    await failure(run("1", "write to Ada", { effects: dying, thread: "7/helper/other" }));
    restart();
    server.reply("It is sent.");
    expect(await say("1", "write to Ada")).toBe("It is sent.");
    expect(sent).toEqual(["Ada"]);
    expect(await thread()).toEqual([
      "person: write to Ada",
      'model: send({"to":"Ada"}) look({})',
      "send: sent to Ada",
      "look: This call was interrupted before it had a result.",
      "model: It is sent.",
    ]);
  });

  it("that were begun and are not known to have ended are not called again, and the model is told", async () => {
    const { server, run, say, sent, effects } = await post(await open());
    server.reply({ toolCalls: [call("a", "Ada")] });
    const log = effects("1");
    const dying = {
      earlier: () => log.earlier(),
      begin: (key: string, step: string) => log.begin(key, step),
      done: () => Promise.reject(new GatewayError("store.hold_lost", "the process is gone")),
    };
    await failure(run("1", "write to Ada", { effects: dying, thread: "7/helper/other" }));
    server.reply("I cannot tell whether it was sent.");
    expect(await say("1", "write to Ada")).toBe("I cannot tell whether it was sent.");
    expect(sent).toEqual(["Ada"]);
    expect(toolWords(server)).toContain("begun before, and was cut off before it was known");
  });

  it("of several steps are all there for another attempt, also where its thread was kept", async () => {
    const { server, say, sent, restart, thread } = await post(await open());
    server.reply({ toolCalls: [call("a", "Ada")] }, { toolCalls: [call("b", "Bob")] }, unavailable);
    await failure(say("1", "write to both"));
    restart();
    server.reply("Both are sent.");
    expect(await say("1", "write to both")).toBe("Both are sent.");
    expect(sent).toEqual(["Ada", "Bob"]);
    expect(await thread()).toEqual([
      "person: write to both",
      'model: send({"to":"Ada"})',
      "send: sent to Ada",
      'model: send({"to":"Bob"})',
      "send: sent to Bob",
      "model: Both are sent.",
    ]);
  });

  it("are told apart by their message where a server counts calls anew", async () => {
    const { server, say, sent } = await post(await open());
    server.reply({ toolCalls: [call("call_0", "Ada")] }, { toolCalls: [call("call_0", "Bob")] }, "Both.");
    expect(await say("1", "write to both")).toBe("Both.");
    expect(sent).toEqual(["Ada", "Bob"]);
  });

  it("may fail, and another attempt hears the same", async () => {
    const { server, run, say, sent, effects } = await post(await open(), () => {
      throw new Error("the post office is closed");
    });
    server.reply({ toolCalls: [call("a", "Ada")] });
    const log = effects("1");
    const dying = {
      ...log,
      earlier: () => log.earlier(),
      async done(key: string, result: string) {
        await log.done(key, result);
        throw new GatewayError("store.hold_lost", "the process is gone");
      },
    };
    await failure(run("1", "write to Ada", { effects: dying, thread: "7/helper/other" }));
    server.reply("It is closed.");
    expect(await say("1", "write to Ada")).toBe("It is closed.");
    expect(sent).toEqual(["Ada"]);
    expect(toolWords(server)).toContain("the post office is closed");
  });

  it("are not called while they cannot be written down", async () => {
    const { server, run, sent, effects } = await post(await open());
    server.reply({ toolCalls: [call("a", "Ada")] }, "It did not work.");
    const full = {
      ...effects("1"),
      earlier: async () => [],
      begin: () => Promise.reject(new Error("disk full")),
    };
    expect((await run("1", "write to Ada", { effects: full })).markdown).toBe("It did not work.");
    expect(sent).toEqual([]);
    expect(toolWords(server)).toContain("could not be written down, so it was not made");
  });

  it("are refused once somebody else holds the chat", async () => {
    const { server, run, sent, hold, effects } = await post(await open());
    server.reply({ toolCalls: [call("a", "Ada")] });
    const log = effects("1");
    const stolen = {
      ...log,
      earlier: () => log.earlier(),
      begin: () =>
        Promise.reject(new GatewayError("store.hold_lost", `chat ${hold.chat} is held by another`)),
    };
    expect((await failure(run("1", "write to Ada", { effects: stolen }))).code).toBe("store.hold_lost");
    expect(sent).toEqual([]);
  });
});

it("a call is never made again where it has a result, whoever asks for it", async () => {
  const known: StoredEffect[] = [];
  const effects = {
    earlier: async () => known,
    begin: async (key: string, step: string) => void known.push({ call: key, step }),
    done: async (key: string, result: string) =>
      void known.splice(
        0,
        Infinity,
        ...known.map((each) => (each.call === key ? { ...each, result } : each)),
      ),
  };
  const asked = new AIMessage({
    id: "m",
    content: "",
    tool_calls: [{ ...call("a", "Ada"), type: "tool_call" }],
  });
  const send = tool(() => "", { name: "send", schema: z.object({}), metadata: { effects: true } });
  const calling: Calling = {
    call: call("a", "Ada"),
    tool: send,
    state: { messages: [asked] },
    turn: { folder: "/x", effects },
    signal: undefined,
  };
  let made = 0;
  const make = async (): Promise<ToolMessage> => {
    made += 1;
    return new ToolMessage({ content: `made ${made}`, tool_call_id: "a" });
  };
  const results = [await effectsOnce(calling, make), await effectsOnce(calling, make)];
  expect(results.map((each) => (ToolMessage.isInstance(each) ? each.text : ""))).toEqual([
    "made 1",
    "made 1",
  ]);
  // Without its message a call is not known from another of its id.
  const stray = await effectsOnce({ ...calling, state: { messages: [] } }, make);
  expect(ToolMessage.isInstance(stray) && stray.status).toBe("error");
  expect(made).toBe(1);
});

eachDatabase("what a tool with effects puts into the thread", (open) => {
  it("is there after another attempt, from all its calls", async () => {
    const note = tool(
      ({ path }, { toolCallId }: ToolRuntime) =>
        new Command({
          update: {
            artifacts: [path],
            messages: [new ToolMessage({ content: "noted", tool_call_id: toolCallId })],
          },
        }),
      {
        name: "note",
        description: "Notes",
        schema: z.object({ path: z.string() }),
        metadata: { effects: true },
      },
    );
    const bench = await toolBench({ database: await open(), tools: [note] });
    onTestFinished(bench.close);
    const noting = (id: string, path: string) => ({ id, name: "note", args: { path } });
    bench.server.reply({ toolCalls: [noting("a", "/outputs/a"), noting("b", "/outputs/b")] }, unavailable);
    await failure(bench.run("1", "note", { thread: "7/helper/other" }));
    bench.server.reply("Noted.");
    const seen: unknown[] = [];
    expect(await bench.say("1", "note")).toBe("Noted.");
    seen.push(await bench.thread());
    expect(seen).toEqual([
      [
        "person: note",
        'model: note({"path":"/outputs/a"}) note({"path":"/outputs/b"})',
        "note: noted",
        "note: noted",
        "model: Noted.",
      ],
    ]);
  });

  it("and an interrupt beside it does not make it be called twice", async () => {
    const sent: string[] = [];
    const send = tool(
      ({ to }) => {
        sent.push(to);
        return "sent";
      },
      {
        name: "send",
        description: "Sends",
        schema: z.object({ to: z.string() }),
        metadata: { effects: true },
      },
    );
    const ask = tool(() => `the person says ${String(interrupt("Which colour?"))}`, {
      name: "ask",
      description: "Asks",
      schema: z.object({}),
    });
    const bench = await toolBench({ database: await open(), tools: [send, ask] });
    onTestFinished(bench.close);
    bench.server.reply({ toolCalls: [call("a", "Ada"), { id: "b", name: "ask", args: {} }] });
    expect(await bench.say("1", "write and ask")).toBe("Which colour?");
    bench.restart();
    bench.server.reply("Blue it is.");
    expect(await bench.say("2", "blue")).toBe("Blue it is.");
    expect(sent).toEqual(["Ada"]);
    expect(toolWords(bench.server)).toContain("the person says blue");
  });
});
