import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import type { Asking, Said } from "../../../src/agent/harness/stage.ts";
import { viewed } from "../../../src/agent/harness/viewed.ts";
import { correctionMessage, humanMessage, viewedIn } from "../../../src/agent/messages.ts";
import type { ViewedImages } from "../../../src/agent/state.ts";
import type { AgentDefinition, AgentAnswer, Look } from "../../../src/core/agent.ts";
import type { MediaBlock } from "../../../src/core/blocks.ts";
import { base64, medium } from "../media-blocks.ts";
import { closeServers, served, type Served, type WireName } from "../model-servers.ts";
import { turn } from "../set-up.ts";
import type { Json } from "../../support/models/server.ts";

afterEach(closeServers);

const IMAGE = { type: "image", mimeType: "image/jpeg" } as const;
const PHOTO: MediaBlock = { ...IMAGE, blob: "sha256:01", bytes: 5 };

const ASKED = humanMessage("1", { content: [{ type: "text", text: "look" }], sentAt: "" }, true);
const CALLS = new AIMessage({
  content: "",
  tool_calls: [
    { id: "a", name: "read_file", args: {} },
    { id: "b", name: "read_file", args: {} },
  ],
});
const RESULTS = ["a", "b"].map((id) => new ToolMessage({ content: "a photo", tool_call_id: id }));

/** The request that goes on, and what the thread is told. */
async function through(
  messages: readonly BaseMessage[],
  viewedImages: ViewedImages,
): Promise<{ readonly sent: readonly BaseMessage[]; readonly update: Said["update"] }> {
  let sent: readonly BaseMessage[] = [];
  const asking = {
    messages,
    state: { viewedImages },
    system: new SystemMessage(""),
    tools: [],
  } as unknown as Asking; // all that it looks at
  const { update } = await viewed(asking, async (on) => {
    sent = on.messages;
    return { answer: new AIMessage("seen"), update: {} };
  });
  return { sent, update };
}

describe("what was looked at", () => {
  it.each([
    ["corrections", correctionMessage({ id: "c", text: "the other one" })],
    ["what was said meanwhile", humanMessage("2", { content: [], sentAt: "", meanwhile: true }, true)],
  ])("is shown behind all results of the step, before %s, and cleared by the answer", async (_what, came) => {
    const messages = [ASKED, CALLS, ...RESULTS, came];
    const { sent, update } = await through(messages, {
      "/uploads/a.jpg": [PHOTO],
      "/uploads/b.jpg": [PHOTO],
    });
    expect(sent.map((each) => each.getType())).toEqual(["human", "ai", "tool", "tool", "human", "human"]);
    expect(viewedIn(sent[4] as BaseMessage)).toHaveLength(3);
    expect(sent[5]).toBe(came);
    expect(update).toEqual({ viewedImages: {} });
  });

  it("of a step that failed is not shown to the next message, which would fail with it, and is cleared", async () => {
    const next = humanMessage("2", { content: [{ type: "text", text: "and?" }], sentAt: "" }, true);
    const messages = [ASKED, CALLS, ...RESULTS, next];
    const { sent, update } = await through(messages, { "/uploads/a.jpg": [PHOTO] });
    expect(sent).toEqual(messages);
    expect(update).toEqual({ viewedImages: {} });
  });

  it("is nothing most of the time, and then nothing is written", async () => {
    const messages = [ASKED, new HumanMessage("a note")];
    expect(await through(messages, {})).toEqual({ sent: messages, update: {} });
  });
});

type Looking = Served & {
  readonly run: (id: string, said: string, agent?: AgentDefinition) => Promise<AgentAnswer>;
  readonly looked: unknown[];
};

/** An agent with file tools in whose folder lie two photos; what a look gives is the test's. */
async function setUp(wire: WireName, fields: Partial<AgentDefinition> = {}): Promise<Looking> {
  const folder = join(await mkdtemp(join(tmpdir(), "perch-agent-")), "7");
  await mkdir(join(folder, "uploads"), { recursive: true });
  for (const name of ["a.jpg", "b.jpg"])
    await writeFile(join(folder, "uploads", name), Buffer.from([0xff, 0xd8, 0xff]));
  const told = await served(wire, { files: true, ...fields });
  const looked: unknown[] = [];
  const look: Look = async (path, part) => {
    looked.push([path, part]);
    if (path.endsWith("gone.jpg")) return [{ type: "text", text: "[there is no file]" }];
    const filename = path.slice("/uploads/".length);
    return [await medium(told.blobs, { ...IMAGE, filename, path }, { bytes: `PHOTO-${filename}` })];
  };
  return {
    ...told,
    looked,
    run: (id, said, agent = told.agent) =>
      told.runner.run({ ...turn(agent, id, said), folder, look }, new AbortController().signal),
  };
}

const read = (...names: readonly string[]) => ({
  toolCalls: names.map((name) => ({ name: "read_file", args: { file_path: `/uploads/${name}` } })),
});

describe("a photo in the folder of the chat", () => {
  it.each(["openai", "responses", "anthropic", "google", "ollama"] as const)(
    "is shown to a model over %s after it has read it, two in one step both, once, and stands in no thread",
    async (wire) => {
      const { server, run, saver } = await setUp(wire);
      server.reply(read("a.jpg", "b.jpg"), read("a.jpg"), "A heron and a crow.");
      expect((await run("1", "what is on them?")).markdown).toBe("A heron and a crow.");
      const bodies = server.requests.map(({ body }) => JSON.stringify(body));
      expect(bodies).toHaveLength(3);
      expect(bodies[0]).not.toContain(base64("PHOTO-a.jpg"));
      for (const name of ["a.jpg", "b.jpg"]) expect(bodies[1]).toContain(base64(`PHOTO-${name}`));
      expect(bodies[2]).toContain(base64("PHOTO-a.jpg"));
      expect(bodies[2]).not.toContain(base64("PHOTO-b.jpg"));
      server.reply("yes");
      await run("2", "sure?");
      expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain(base64("PHOTO-a.jpg"));
      const stored = JSON.stringify(saver.storage, (_key, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : value,
      );
      expect(stored).toContain("It is shown to you once");
      expect(stored).not.toContain(base64("PHOTO-a.jpg"));
      expect(stored).not.toContain("perchViewed");
    },
  );

  it("is told in words to a model without eyes", async () => {
    const { server, run } = await setUp("openai", { senses: { images: false } });
    server.reply(read("a.jpg"), "I cannot see it.");
    await run("1", "what is on it?");
    const body = JSON.stringify(server.requests[1]?.body);
    expect(body).not.toContain("image_url");
    expect(body).toContain("you are not shown its contents");
  });

  it("that the model refuses spoils neither this answer nor the thread", async () => {
    const { server, run } = await setUp("anthropic");
    const refuse = { fault: "status", status: 400, message: "Could not process image" } as const;
    server.reply(read("a.jpg"), refuse, "I could not look at it.", "hello");
    const answer = await run("1", "what is on it?");
    expect(answer.markdown).toBe("I could not look at it.");
    const body = JSON.stringify(server.requests.at(-1)?.body);
    expect(body).toContain("the model did not take it");
    expect((await run("2", "hi")).markdown).toBe("hello");
  });

  it("at which the provider fails is not shown again to the next message", async () => {
    const { server, run } = await setUp("anthropic");
    const fails = { fault: "status", status: 401, message: "no" } as const;
    server.reply(read("a.jpg"), fails);
    await expect(run("1", "what is on it?")).rejects.toThrow("API key");
    server.reply("hello");
    expect((await run("2", "hi")).markdown).toBe("hello");
    expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain(base64("PHOTO-a.jpg"));
  });

  it("does not push out what the person sent", async () => {
    const { server, runner, agent, blobs } = await setUp("openai", {
      limits: { turnSeconds: 60, messages: 40, characters: 20_000, mediaTurns: 1 },
    });
    const folder = join(await mkdtemp(join(tmpdir(), "perch-agent-")), "7");
    await mkdir(join(folder, "uploads"), { recursive: true });
    await writeFile(join(folder, "uploads", "a.jpg"), Buffer.from([0xff, 0xd8, 0xff]));
    const sent = await medium(blobs, { ...IMAGE, filename: "sent.jpg" }, { bytes: "SENT" });
    const look: Look = async () => [await medium(blobs, IMAGE, { bytes: "READ" })];
    server.reply(read("a.jpg"), "Both.");
    await runner.run({ ...turn(agent, "1", [sent]), folder, look }, new AbortController().signal);
    const body = JSON.stringify(server.requests[1]?.body);
    expect(body).toContain(base64("SENT"));
    expect(body).toContain(base64("READ"));
  });
});

describe("some pages of a PDF", () => {
  it("are shown as their text and pictures, also to a model that would read the file, and that is not sent", async () => {
    const { server, runner, agent, blobs } = await served("openai", { files: true, senses: { pdf: true } });
    const folder = join(await mkdtemp(join(tmpdir(), "perch-agent-")), "7");
    await mkdir(join(folder, "uploads"), { recursive: true });
    await writeFile(join(folder, "uploads", "a.jpg"), Buffer.from([0xff, 0xd8, 0xff]));
    const fields = { type: "file", mimeType: "application/pdf", filename: "a.pdf", part: true } as const;
    const pages = await medium(blobs, fields, { bytes: "WHOLE", text: "[page 2]\nTwo", stills: ["page 3"] });
    server.reply(read("a.jpg"), "done");
    const look: Look = async () => [pages];
    await runner.run({ ...turn(agent, "1", "look"), folder, look }, new AbortController().signal);
    const body = JSON.stringify(server.requests[1]?.body);
    expect(body).toContain("[page 2]");
    expect(body).toContain(base64("page 3"));
    expect(body).not.toContain(base64("WHOLE"));
  });
});

describe("read_file", () => {
  it("hands on which pages or seconds are wanted, and says in words what cannot be shown", async () => {
    const { server, run, looked } = await setUp("openai");
    server.reply(
      {
        toolCalls: [
          { name: "read_file", args: { file_path: "/uploads/a.jpg", offset: 2, limit: 3 } },
          { name: "read_file", args: { path: "uploads/a.jpg" } },
        ],
      },
      "done",
    );
    await run("1", "look");
    // Both are run at once.
    expect(new Set(looked)).toEqual(
      new Set([
        ["/uploads/a.jpg", { from: 2, count: 3 }],
        ["/uploads/a.jpg", {}],
      ]),
    );
    const messages = server.requests[1]?.body["messages"] as readonly Json[]; // of a chat request
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    expect(results).toEqual([
      'image "a.jpg", image/jpeg, 11 bytes, at /uploads/a.jpg\nIt is shown to you once, behind these results; read it again to see it again.',
      expect.stringContaining("It is shown to you once"),
    ]);
    // Both parts of the one file.
    expect(JSON.stringify(server.requests[1]?.body).split(base64("PHOTO-a.jpg"))).toHaveLength(3);
  });

  it("of a turn without a look says what it says of what is no text", async () => {
    const { server, runner, agent } = await setUp("openai");
    const folder = join(await mkdtemp(join(tmpdir(), "perch-agent-")), "7");
    await mkdir(join(folder, "uploads"), { recursive: true });
    await writeFile(join(folder, "uploads", "a.jpg"), Buffer.from([0xff, 0xd8, 0xff]));
    server.reply(read("a.jpg"), "done");
    await runner.run({ ...turn(agent, "1", "look"), folder }, new AbortController().signal);
    expect(JSON.stringify(server.requests[1]?.body)).toContain("is no text (3 bytes)");
  });
});
