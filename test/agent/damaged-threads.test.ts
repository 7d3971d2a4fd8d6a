import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { createAgent, tool } from "langchain";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadModel } from "../../src/agent/models.ts";
import { createAgentRunner } from "../../src/agent/runner.ts";
import { ThreadSaver } from "../../src/agent/threads.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import type { Database } from "../../src/store/database.ts";
import { threadStore } from "../../src/store/threads.ts";
import { memoryLog } from "../support/channel-host.ts";
import { onSqlite } from "../support/database.ts";
import { listOf, type Json, type Reply } from "../support/models/server.ts";
import { base64, medium } from "./media-blocks.ts";
import { closeServers, served } from "./model-servers.ts";
import { hurried, turn } from "./set-up.ts";
import { type ToolBench, toolBench } from "./tool-bench.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-"));
});
afterAll(() => rm(folder, { recursive: true }));
const benches: ToolBench[] = [];
afterEach(async () => {
  await closeServers();
  for (const bench of benches.splice(0)) await bench.close();
});

const open = onSqlite();
const never = new AbortController().signal;
const THREAD = "7/helper/1";

/** What stands behind each call of a request: its result, or what else. */
function afterCalls(body: Json | undefined): readonly string[] {
  const messages = listOf(body?.["messages"]);
  return messages.flatMap((message, at) =>
    listOf(message["tool_calls"]).map((call, place) => {
      const next = messages[at + 1 + place];
      return next?.["tool_call_id"] === call["id"] ? String(next?.["content"]) : "no result";
    }),
  );
}

describe("a picture that the model refused (THR-03)", () => {
  const saverOn = (database: Database, blobs: FileBlobs): ThreadSaver =>
    new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 2 });

  it("is cured in the stored checkpoint, so that a restart does not bring it back", async () => {
    const database = await open();
    await database.db
      .insertInto("chat")
      .values({ id: 7 as ChatId as never, channel: "c", kind: "private", owner: "test", epoch: 1, until: 0 })
      .execute();
    const blobs = new FileBlobs(join(folder, "blobs"));
    const { server, agent } = await served("openai");
    const refusing: Reply = ({ body }) =>
      JSON.stringify(body).includes(base64("TRUNCATED"))
        ? { fault: "status", status: 400, message: "Invalid image data" }
        : "seen";
    const bad = await medium(blobs, { type: "image", mimeType: "image/jpeg" }, { bytes: "TRUNCATED" });
    const runnerOn = (on: Database) => {
      const saver = saverOn(on, blobs);
      return createAgentRunner({ saver: async () => saver, blobs, clock: hurried, log: memoryLog([]) });
    };

    server.reply(refusing, refusing);
    const first = await runnerOn(database).run(turn(agent, "1", [bad]), never);
    expect(first).toMatchObject({ markdown: "seen", refused: ["the image"] });
    await database.close();

    const again = await open(database);
    server.reply(refusing);
    const second = await runnerOn(again).run(turn({ ...agent }, "2", "hello"), never);
    expect(second).toMatchObject({ markdown: "seen", refused: [] });
    expect(server.requests).toHaveLength(3);
    const stored = await saverOn(again, blobs).getTuple({ configurable: { thread_id: THREAD } });
    const messages = stored?.checkpoint.channel_values["messages"] as readonly BaseMessage[]; // of a thread of ours
    expect(messages[0]?.additional_kwargs["perch"]).toMatchObject({
      refused: { "openai:local": [bad.blob] },
    });
  });
});

describe("a run that ended in the middle of a tool (THR-04)", () => {
  /** A tool that never comes back; `called` resolves when it is called. */
  async function hanging() {
    let called = (): void => {};
    const there = new Promise<void>((resolve) => (called = resolve));
    const dig = tool(
      () => {
        called();
        return new Promise<string>(() => {});
      },
      { name: "dig", description: "Digs.", schema: z.object({}) },
    );
    const bench = await toolBench({ database: await open(), tools: [dig] });
    benches.push(bench);
    bench.server.reply({ toolCalls: [{ name: "dig", args: {} }] });
    return { bench, there };
  }

  it("by the end of its process: what is said next is answered, and so is the turn when it is run again", async () => {
    const { bench, there } = await hanging();
    void bench.run("1", "dig");
    await there;
    bench.restart();
    bench.server.reply("Gone on.", "Dug.");
    expect(await bench.say("2", "go on")).toBe("Gone on.");
    expect(await bench.say("1", "dig")).toBe("Dug.");
    for (const { body } of bench.server.requests) expect(afterCalls(body)).not.toContain("no result");
  });

  it("by its signal: what is said next is answered", async () => {
    const { bench, there } = await hanging();
    const controller = new AbortController();
    const stopped = bench.run("1", "dig", {}, controller.signal).catch((error: unknown) => error);
    await there;
    controller.abort(new Error("stopped by the person"));
    await stopped;
    bench.restart();
    bench.server.reply("Gone on.");
    expect(await bench.say("2", "go on")).toBe("Gone on.");
    expect(afterCalls(bench.server.requests.at(-1)?.body)).not.toContain("no result");
  });
});

describe("a call without a result far back in a stored thread (THR-05)", () => {
  const orphan = new AIMessage({ id: "a1", content: "", tool_calls: [{ id: "c1", name: "dig", args: {} }] });
  const plain = [1, 2, 3].flatMap((n) => [
    new HumanMessage({ id: `h${n}`, content: `text ${n}` }),
    new AIMessage({ id: `p${n}`, content: `answer ${n}` }),
  ]);

  it("has one wherever it sits", async () => {
    const database = await open();
    const bench = await toolBench({ database, tools: [] });
    benches.push(bench);
    const blobs = new FileBlobs(join(folder, "blobs"));
    const { graph } = createAgent({
      model: await loadModel(bench.agent.model, blobs),
      checkpointer: new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 2 }),
    });
    const config = { configurable: { thread_id: THREAD } };
    await graph.updateState(config, {
      messages: [new HumanMessage({ id: "h0", content: "dig" }), orphan, ...plain],
    });
    // It is as it was said to be: a server that looks refuses it.
    const { values } = await graph.getState(config);
    const stored = (values as { messages: BaseMessage[] }).messages; // of this graph
    const raw = await loadModel(bench.agent.model, blobs);
    await expect(raw.invoke(stored)).rejects.toMatchObject({ status: 400 });

    bench.server.reply("Hi.");
    expect(await bench.say("4", "hi")).toBe("Hi.");
    expect(afterCalls(bench.server.requests.at(-1)?.body)).toEqual([
      "This call was interrupted before it had a result.",
    ]);
  });
});
