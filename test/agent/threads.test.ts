import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  HumanMessage,
  RemoveMessage,
  isBaseMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import {
  Annotation,
  Command,
  MessagesAnnotation,
  MessagesDeltaValue,
  REMOVE_ALL_MESSAGES,
  StateGraph,
  StateSchema,
  interrupt,
} from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { sql } from "kysely";
import { createAgent, tool } from "langchain";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { glancing, ThreadSaver, type ThreadOptions } from "../../src/agent/threads.ts";
import type { Hold } from "../../src/core/identity.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import type { Database } from "../../src/store/database.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { threadStore } from "../../src/store/threads.ts";
import { eachDatabase } from "../support/database.ts";

let folder: string;
let blobs: FileBlobs;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-"));
  blobs = new FileBlobs(join(folder, "blobs"));
});
afterAll(() => rm(folder, { recursive: true }));

function saverOn(database: Database, options: Partial<ThreadOptions> = {}): ThreadSaver {
  return new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 2, ...options });
}

/** Answers with how many messages it was sent; a message "call" makes it call a tool first. */
class CountingModel extends BaseChatModel {
  _llmType(): string {
    return "counting";
  }

  override bindTools(): this {
    return this;
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const calls = messages.at(-1)?.text === "call";
    const message = new AIMessage({
      content: calls ? "" : `${messages.length} messages. ${"And so on. ".repeat(20)}`,
      tool_calls: calls ? [{ id: `call-${messages.length}`, name: "approve", args: { what: "that" } }] : [],
    });
    return { generations: [{ text: message.text, message }] };
  }
}

const approve = tool(({ what }) => `${what}: ${String(interrupt("may I?"))}`, {
  name: "approve",
  description: "Asks a person.",
  schema: z.object({ what: z.string() }),
});

function agentOn(saver: ThreadSaver) {
  return createAgent({ model: new CountingModel({}), tools: [approve], checkpointer: saver }).graph;
}

function human(id: string, content: string | HumanMessage["content"]): HumanMessage {
  return new HumanMessage({ id, content });
}

function textsOf(messages: unknown): readonly string[] {
  return Array.isArray(messages) ? messages.filter(isBaseMessage).map((message) => message.text) : [];
}

const DURABILITIES = ["exit", "sync", "async"] as const;

eachDatabase("ThreadSaver", (open) => {
  it("keeps the bytes of pending writes, and their order by path, task and index", async () => {
    const saver = saverOn(await open());
    const at = await saver.put(
      { configurable: { thread_id: "1/a/1" } },
      { ...emptyCheckpoint(), id: uuid6(0) },
      { source: "loop", step: 0, parents: {} },
      {},
    );
    const bytes = Uint8Array.from([0, 200, 255]);
    await saver.putWrites(at, [["x", "third"]], "task-1", "~b");
    await saver.putWrites(
      at,
      [
        ["x", bytes],
        ["y", { bytes }],
      ],
      "task-9",
      "~a",
    );
    await saver.putWrites(at, [["x", "second"]], "task-2", "~b");
    await saver.putWrites(at, [["x", "first"]], "task-5");
    const tuple = await saver.getTuple(at);
    expect(tuple?.pendingWrites).toEqual([
      ["task-5", "x", "first"],
      ["task-9", "x", bytes],
      ["task-9", "y", { bytes }],
      ["task-1", "x", "third"],
      ["task-2", "x", "second"],
    ]);
  });

  it.each(DURABILITIES)(
    "goes on after an interrupt on another connection, durability %s",
    async (durability) => {
      const database = await open();
      const config = { configurable: { thread_id: "1/a/1" }, durability };
      const first = await agentOn(saverOn(database)).invoke({ messages: [human("1", "call")] }, config);
      expect(first).toHaveProperty("__interrupt__");
      await database.close();

      const again = await open(database);
      const agent = agentOn(saverOn(again));
      expect((await agent.getState(config)).tasks[0]?.interrupts[0]?.value).toBe("may I?");
      const { messages } = await agent.invoke(new Command({ resume: "yes" }), config);
      expect(textsOf(messages).slice(0, 3)).toEqual(["call", "", "that: yes"]);
      const newest = await again.db.selectFrom("thread_checkpoint").select("id").execute();
      expect(newest).toHaveLength(1);
      expect(await again.db.selectFrom("thread_write").select("task").execute()).toEqual([]);
    },
  );

  it.each(DURABILITIES)(
    "keeps a subgraph that waits, and drops it once it has ended, durability %s",
    async (durability) => {
      const database = await open();
      const inner = new StateGraph(MessagesAnnotation)
        .addNode("ask", () => ({
          messages: [new AIMessage({ id: "asked", content: String(interrupt("sure?")) })],
        }))
        .addEdge("__start__", "ask")
        .compile();
      const build = (saver: ThreadSaver) =>
        new StateGraph(MessagesAnnotation)
          .addNode("inner", inner)
          .addNode("end", () => ({ messages: [new AIMessage({ id: "end", content: "done" })] }))
          .addEdge("__start__", "inner")
          .addEdge("inner", "end")
          .compile({ checkpointer: saver });
      const config = { configurable: { thread_id: "1/a/1" }, durability };
      await build(saverOn(database)).invoke({ messages: [human("1", "hi")] }, config);
      const spaces = async () =>
        (
          await database.db.selectFrom("thread_checkpoint").select("namespace").orderBy("namespace").execute()
        ).map(({ namespace }) => namespace.replace(/:.*/, ""));
      expect(await spaces()).toEqual(["", "inner"]);
      const { messages } = await build(saverOn(database)).invoke(new Command({ resume: "quite" }), config);
      expect(textsOf(messages)).toEqual(["hi", "quite", "done"]);
      expect(await spaces()).toEqual([""]);
    },
  );

  it("refuses every write of a worker that does not hold the chat any more, and keeps what stands", async () => {
    const database = await open();
    const row = { channel: "c", kind: "private", owner: "me", epoch: 3, until: 0 } as const;
    const { id } = await database.db.insertInto("chat").values(row).returning("id").executeTakeFirstOrThrow();
    const hold: Hold = { chat: id, owner: "me", epoch: 3 };
    const saver = saverOn(database);
    const agent = agentOn(saver);
    const config = { configurable: { thread_id: "1/a/1", hold } };
    await agent.invoke({ messages: [human("1", "held")] }, config);
    await database.db.updateTable("chat").set({ owner: "other", epoch: 4 }).where("id", "=", id).execute();
    const lost = { code: "store.hold_lost" };
    for (const durability of DURABILITIES) {
      await expect(
        agent.invoke({ messages: [human("2", "lost")] }, { ...config, durability }),
      ).rejects.toMatchObject(lost);
    }
    const at = { configurable: { ...config.configurable, checkpoint_ns: "", checkpoint_id: "1" } };
    await expect(saver.putWrites(at, [["x", 1]], "task")).rejects.toMatchObject(lost);
    await expect(saver.deleteThread("1/a/1", hold)).rejects.toMatchObject(lost);
    const tuple = await saver.getTuple({ configurable: { thread_id: "1/a/1" } });
    expect(textsOf(tuple?.checkpoint.channel_values["messages"])[0]).toBe("held");
    expect(await database.db.selectFrom("thread_checkpoint").select("id").execute()).toHaveLength(1);
  });

  it("runs many threads at once on one connection, each with its own history", async () => {
    const agent = agentOn(saverOn(await open()));
    const turn = async (thread: string, n: number) =>
      agent.invoke({ messages: [human(`${n}`, `${thread} ${n}`)] }, { configurable: { thread_id: thread } });
    const threads = Array.from({ length: 8 }, (_, n) => `${n}/a/1`);
    for (const n of [1, 2, 3]) await Promise.all(threads.map((thread) => turn(thread, n)));
    for (const thread of threads) {
      const { messages } = (await agent.getState({ configurable: { thread_id: thread } })).values as {
        messages: BaseMessage[];
      };
      expect(textsOf(messages).filter((text) => text.startsWith(thread))).toEqual(
        [1, 2, 3].map((n) => `${thread} ${n}`),
      );
    }
  });

  it("reads what another worker has written since", async () => {
    const database = await open();
    const [here, there] = [agentOn(saverOn(database)), agentOn(saverOn(await open(database)))];
    const config = { configurable: { thread_id: "1/a/1" } };
    for (const [n, agent] of [here, there, here, there, here].entries()) {
      const { messages } = await agent.invoke({ messages: [human(`${n}`, `turn ${n}`)] }, config);
      expect(textsOf(messages).filter((text) => text.startsWith("turn"))).toHaveLength(n + 1);
    }
  });

  it.each([
    ["a value that did not change", {}],
    ["the beginning of a history", { messages: 9 }],
  ])("writes all again when another worker has deleted what it counted on: %s", async (_, newVersions) => {
    const database = await open();
    const config = { configurable: { thread_id: "1/a/1" } };
    const saver = saverOn(database);
    const agent = agentOn(saver);
    for (const n of [1, 2, 3, 4]) await agent.invoke({ messages: [human(`${n}`, `message ${n}`)] }, config);
    const { checkpoint } = (await saver.getTuple(config)) ?? { checkpoint: emptyCheckpoint() };
    const { messages } = checkpoint.channel_values as { messages: BaseMessage[] };
    await saverOn(await open(database)).deleteThread("1/a/1");
    const next = {
      ...checkpoint,
      id: uuid6(9),
      channel_values: { messages: [...messages, human("5", "last")] },
    };
    const at = { configurable: { ...config.configurable, checkpoint_id: checkpoint.id } };
    await saver.put(at, next, { source: "loop", step: 9, parents: {} }, newVersions);
    const stored = (await saverOn(database).getTuple(config))?.checkpoint.channel_values["messages"];
    expect(textsOf(stored)).toEqual([...textsOf(messages), "last"]);
  });

  it.each(DURABILITIES)("keeps what a delta channel is made of, durability %s", async (durability) => {
    const database = await open();
    const build = (saver: ThreadSaver) =>
      new StateGraph(new StateSchema({ messages: MessagesDeltaValue }))
        .addNode("answer", () => ({ messages: [new AIMessage("yes")] }))
        .addEdge("__start__", "answer")
        .compile({ checkpointer: saver });
    const config = { configurable: { thread_id: "1/a/1" }, durability };
    for (const n of [1, 2, 3]) {
      await build(saverOn(database)).invoke({ messages: [human(`${n}`, `message ${n}`)] }, config);
    }
    const { messages } = (await build(saverOn(database)).getState(config)).values as {
      messages: BaseMessage[];
    };
    expect(textsOf(messages)).toEqual(["message 1", "yes", "message 2", "yes", "message 3", "yes"]);
  });

  it("deletes what a rewritten history leaves behind", async () => {
    const database = await open();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("answer", ({ messages }) => ({
        messages:
          messages.at(-1)?.text === "forget"
            ? [
                new RemoveMessage({ id: REMOVE_ALL_MESSAGES }),
                new AIMessage({ id: "s", content: "a summary" }),
              ]
            : [new AIMessage("yes")],
      }))
      .addEdge("__start__", "answer")
      .compile({ checkpointer: saverOn(database) });
    const config = { configurable: { thread_id: "1/a/1" }, durability: "exit" as const };
    for (const n of [1, 2, 3, 4]) await graph.invoke({ messages: [human(`${n}`, `message ${n}`)] }, config);
    expect(await database.db.selectFrom("thread_message").select("id").execute()).toHaveLength(8);
    const { messages } = await graph.invoke({ messages: [human("5", "forget")] }, config);
    expect(textsOf(messages)).toEqual(["a summary"]);
    expect(await database.db.selectFrom("thread_message").select("id").execute()).toEqual([{ id: "s" }]);
    expect(await database.db.selectFrom("thread_list").select("id").execute()).toHaveLength(1);
    const after = await graph.invoke({ messages: [human("6", "and now?")] }, config);
    expect(textsOf(after.messages)).toEqual(["a summary", "and now?", "yes"]);
  });
});

describe("ThreadSaver on SQLite", () => {
  const opened: Database[] = [];
  afterAll(() => Promise.all(opened.map((database) => database.close())));
  async function openFile(name: string): Promise<{ path: string; database: Database }> {
    const path = join(folder, name, "perch.db");
    const database = await openSqlite(path);
    opened.push(database);
    return { path, database };
  }

  it("writes as much on turns 391 to 400 as on turns 41 to 50", async () => {
    const { path, database } = await openFile("growth");
    const agent = agentOn(saverOn(database));
    const config = { configurable: { thread_id: "1/a/1" }, durability: "exit" as const };
    const written: Record<number, number> = {};
    const size: Record<number, number> = {};
    for (let n = 1; n <= 400; n += 1) {
      // Over ten turns: how many pages one turn touches is chance.
      if (n === 41 || n === 391) await sql`pragma wal_checkpoint(truncate)`.execute(database.db);
      await agent.invoke({ messages: [human(`h${n}`, "question ".repeat(22))] }, config);
      if (n !== 50 && n !== 400) continue;
      written[n] = (await stat(`${path}-wal`)).size;
      size[n] = (await stat(path)).size;
    }
    expect(written[400]! / written[50]!).toBeLessThan(1.3);
    expect((size[400]! - size[50]!) / 350).toBeLessThan(3000);
  });

  it("hands out nothing through which the stored history could be changed", async () => {
    const { database } = await openFile("copies");
    const saver = saverOn(database);
    const config = { configurable: { thread_id: "1/a/1" } };
    const said = Array.from({ length: 40 }, (_, n) =>
      human(`${n}`, [{ type: "text", text: `message ${n}` }]),
    );
    await saver.put(
      config,
      { ...emptyCheckpoint(), channel_values: { messages: said }, channel_versions: { messages: 1 } },
      { source: "input", step: -1, parents: {} },
      { messages: 1 },
    );
    const read = async () => {
      const messages = (await saver.getTuple(config))?.checkpoint.channel_values["messages"] as BaseMessage[];
      return messages;
    };
    for (const message of await read()) {
      message.additional_kwargs["seen"] = true;
      (message.content[0] as { text: string }).text = "changed";
    }
    (await read()).pop();
    const after = await read();
    expect(textsOf(after)).toEqual(said.map((message) => message.text));
    expect(after.some((message) => "seen" in message.additional_kwargs)).toBe(false);
  });

  it("looks at an old message once a turn, however often the thread is read in it", async () => {
    const { database } = await openFile("once");
    const saver = saverOn(database);
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("answer", () => ({ messages: [new AIMessage("done")] }))
      .addEdge("__start__", "answer")
      .compile({ checkpointer: saver });
    const config = { configurable: { thread_id: "1/a/1" }, durability: "exit" as const };
    const many = Array.from({ length: 40 }, (_, n) => human(`${n}`, `message ${n}`));
    await graph.updateState(config, { messages: many }, "answer");
    const glance = async () => {
      const { values } = await graph.getState(glancing(config));
      return (values as { messages: BaseMessage[] }).messages;
    };
    const [first] = await glance();
    await graph.invoke({ messages: [human("turn 0", "go")] }, config);
    let looks = 0;
    const metadata = first!.response_metadata;
    Object.defineProperty(first, "response_metadata", {
      get: () => {
        looks += 1;
        return metadata;
      },
      enumerable: true,
    });
    for (let turn = 1; turn <= 3; turn += 1) {
      await glance();
      await graph.invoke({ messages: [human(`turn ${turn}`, "go")] }, config);
    }
    expect((await glance())[0]).toBe(first);
    expect(looks).toBe(3);
  });

  it.each(["fails", "is ended"])("lends nothing on that a run has changed which %s", async (how) => {
    const { database } = await openFile(how);
    const saver = saverOn(database);
    const ending = new AbortController();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("answer", ({ messages }) => {
        messages[0]!.content = "changed";
        if (how === "fails") throw new Error("half-way");
        ending.abort();
        return { messages: [] };
      })
      .addEdge("__start__", "answer")
      .compile({ checkpointer: saver });
    const config = { configurable: { thread_id: "1/a/1" }, durability: "exit" as const };
    const many = Array.from({ length: 40 }, (_, n) => human(`${n}`, `message ${n}`));
    await graph.updateState(config, { messages: many }, "answer");
    await graph.getState(glancing(config));
    await expect(
      graph.invoke({ messages: [human("x", "go")] }, { ...config, signal: ending.signal }),
    ).rejects.toThrow(how === "fails" ? "half-way" : /abort/i);
    const read = async (by: ThreadSaver) =>
      (await by.getTuple(config))?.checkpoint.channel_values["messages"] as BaseMessage[];
    // What was cut off still writes down where it stood.
    await expect.poll(async () => textsOf(await read(saverOn(database)))).toContain("go");
    expect(textsOf(await read(saver))).toEqual(textsOf(await read(saverOn(database))));
  });

  it("stores what a node has changed in place, in old messages as well", async () => {
    const { database } = await openFile("in-place");
    const graph = (saver: ThreadSaver) =>
      new StateGraph(MessagesAnnotation)
        .addNode("redact", ({ messages }) => {
          const first = messages[0]?.content[0];
          if (typeof first === "object" && "text" in first) first.text = "redacted";
          return { messages: [new AIMessage("done")] };
        })
        .addEdge("__start__", "redact")
        .compile({ checkpointer: saver });
    const config = { configurable: { thread_id: "1/a/1" }, durability: "exit" as const };
    const many = Array.from({ length: 40 }, (_, n) =>
      human(`${n}`, [{ type: "text", text: `message ${n}` }]),
    );
    const seed = saverOn(database);
    await graph(seed).updateState(config, { messages: many }, "redact");
    await graph(seed).invoke({ messages: [human("x", "go")] }, config);
    const { messages } = (await graph(saverOn(database)).getState(config)).values as {
      messages: BaseMessage[];
    };
    expect(textsOf(messages).slice(0, 2)).toEqual(["redacted", "message 1"]);
    expect(messages).toHaveLength(42);
  });

  describe("with media in the state of an operator's graph", () => {
    const picture = (): string => randomBytes(3000).toString("base64");

    function graphOn(saver: ThreadSaver) {
      const State = Annotation.Root({
        ...MessagesAnnotation.spec,
        photo: Annotation<unknown>(),
      });
      return new StateGraph(State)
        .addNode("answer", () => ({ messages: [new AIMessage("seen")] }))
        .addEdge("__start__", "answer")
        .compile({ checkpointer: saver });
    }

    it.each(DURABILITIES)("leaves none of its bytes in the database, durability %s", async (durability) => {
      const { path, database } = await openFile(`media-${durability}`);
      const graph = graphOn(saverOn(database));
      const config = { configurable: { thread_id: "1/a/1" }, durability };
      const bytes = new Uint8Array(randomBytes(2000));
      const photo = {
        nested: [new Map([["p", { raw: bytes, url: `see data:image/png;base64,${picture()} there` }]])],
      };
      await graph.invoke(
        {
          messages: [human("1", [{ type: "image", mimeType: "image/jpeg", data: picture() }])],
          photo,
        },
        config,
      );
      expect((await graph.getState(config)).values).toMatchObject({ photo });
      const again = await graphOn(saverOn(database)).getState(config);
      expect(again.values).toMatchObject({ photo });

      await sql`pragma wal_checkpoint(truncate)`.execute(database.db);
      const file = await readFile(path);
      expect(/[A-Za-z0-9+/]{1000}/.test(file.toString("latin1"))).toBe(false);
      expect(file.includes(Buffer.from(bytes).subarray(0, 64))).toBe(false);
      expect(file.includes([...bytes.subarray(0, 40)].join(","))).toBe(false);
    });

    it("shows the media of the last turns and says in words what older ones were, which stay as they are", async () => {
      const { database } = await openFile("media-turns");
      const config = { configurable: { thread_id: "1/a/1" }, durability: "exit" as const };
      const pictures = [picture(), picture(), picture()];
      const graph = graphOn(saverOn(database, { mediaTurns: 2 }));
      for (const [n, data] of pictures.entries()) {
        const content = [
          { type: "text", text: `picture ${n}` },
          { type: "image", mimeType: "image/jpeg", data },
        ];
        await graph.invoke({ messages: [human(`${n}`, content)] }, config);
      }
      const rows = () =>
        database.db.selectFrom("thread_message").select(["id", "hash"]).orderBy("id").execute();
      const before = await rows();
      const blocks = async (saver: ThreadSaver) => {
        const { messages } = (await graphOn(saver).getState(config)).values as { messages: BaseMessage[] };
        return messages.flatMap(({ content }) => (Array.isArray(content) ? [content[1]] : []));
      };
      const image = (n: number) => ({ type: "image", mimeType: "image/jpeg", data: pictures[n] });
      const words = { type: "text", text: "[image/jpeg, no longer shown]" };
      expect(await blocks(saverOn(database, { mediaTurns: 2 }))).toEqual([words, image(1), image(2)]);
      await graph.invoke({ messages: [human("3", "and?")] }, config);
      expect(await blocks(saverOn(database, { mediaTurns: 9 }))).toEqual([0, 1, 2].map(image));
      expect(await rows()).toEqual(expect.arrayContaining(before));
    });

    it("gives other text of that alphabet back as it was", async () => {
      const { database } = await openFile("runs");
      const graph = graphOn(saverOn(database));
      const config = { configurable: { thread_id: "1/a/1" } };
      const photo = {
        letters: "a".repeat(1501),
        dashes: `before ${"-".repeat(2000)} after`,
        url: randomBytes(1501).toString("base64url"),
        bare: randomBytes(1501).toString("base64").replace(/=+$/, ""),
        buffer: { deep: new Set([new Uint8Array(randomBytes(1000))]) },
        looksLikeAPlace: { "media x": { text: [{ blob: "sha256:00", as: "base64" }] } },
      };
      await graph.invoke({ messages: [human("1", "hi")], photo }, config);
      expect((await graphOn(saverOn(database)).getState(config)).values).toMatchObject({ photo });
    });
  });
});
