import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { createAgent } from "langchain";
import { sql } from "kysely";
import sharp from "sharp";
import { afterEach, expect, it } from "vitest";
import { loadModel } from "../../src/agent/models.ts";
import { ThreadSaver } from "../../src/agent/threads.ts";
import type { Place } from "../../src/core/events.ts";
import { threadStore } from "../../src/store/threads.ts";
import { facts, remembering, type Remembering } from "../memory/remembering.ts";
import { AGENT, OPEN_TO_ADA, testGateway } from "../support/gateway.ts";
import { startOpenAi } from "../support/models/openai.ts";
import { type Json, listOf, type ModelServer, type Reply } from "../support/models/server.ts";
import { toyKind } from "../support/toy-channel.ts";
import { caseFile } from "./files.ts";
import { startWorld } from "./world.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function modelThat(says: Reply): Promise<ModelServer> {
  const server = await startOpenAi({ otherwise: says });
  cleanups.push(() => server.close());
  return server;
}

async function perchWith(options: Parameters<typeof remembering>[0]): Promise<Remembering> {
  const perch = await remembering({ memory: { facts: false }, ...options });
  cleanups.push(perch.close);
  return perch;
}

/** What the process leaves behind is all that the next one has. */
async function restarted(
  perch: Remembering,
  options: Parameters<typeof remembering>[0],
): Promise<Remembering> {
  await perch.gateway.stop(0);
  await perch.database.close();
  const { folder, platform, server } = perch;
  return await perchWith({ ...options, folder, platform, server });
}

/** Sends a file with words to it, and waits for the answer. */
async function show(
  { platform, clock, until }: Remembering,
  chat: string,
  { bytes, filename, text }: { readonly bytes: Buffer; readonly filename: string; readonly text: string },
): Promise<void> {
  const before = platform.textsIn(chat).length;
  const ref = `file-${platform.files.size}`;
  platform.files.set(ref, async function* () {
    yield bytes;
  });
  const declared = { bytes: bytes.length, filename };
  await platform.say(
    chat,
    [
      { type: "unfetched", kind: "file", ref, declared },
      { type: "text", text },
    ],
    { from: { id: chat, name: chat } },
  );
  await until(async () => {
    await clock.advance(100);
    return platform.textsIn(chat).length > before;
  });
}

/** What a model that is asked for the record of a conversation is told begins so. */
const SUMMARY = "You keep the record of a conversation";
const asksForSummary = (body: Json): boolean => JSON.stringify(body).includes(SUMMARY);

/** Every picture of a request, of all that was said, in order. */
function picturesIn(body: Json | undefined): readonly Buffer[] {
  return [...JSON.stringify(body).matchAll(/data:image\/[a-z]+;base64,([A-Za-z0-9+/=]+)/g)].map(
    ([, data = ""]) => Buffer.from(data, "base64"),
  );
}

async function sidesIn(body: Json | undefined): Promise<readonly number[]> {
  return await Promise.all(
    picturesIn(body).map(async (bytes) => {
      const { width, height } = await sharp(bytes).metadata();
      return Math.max(width, height);
    }),
  );
}

const MANY_IMAGES = { messages: 1_000, characters: 1_000_000, mediaTurns: 40, contextTokens: 400_000 };

it("IMG-25: a request of more than twenty pictures has no large one in it, and the newest is there", async () => {
  const world = await startWorld();
  cleanups.push(() => world.close());
  const talk = await world.talk({ platform: "telegram", limits: MANY_IMAGES });
  const photo = await caseFile("photo.jpg");
  const large = await caseFile("noise_4_5MB.jpg");
  // Four at a time, in one conversation.
  for (const [at, album] of [
    [large],
    ...Array.from({ length: 6 }, () => Array<Buffer>(4).fill(photo)),
  ].entries()) {
    for (const bytes of album) await talk.send({ bytes, sentAs: "photo" });
    await world.emulator.untilSent(Number(talk.chat), at + 1);
  }
  expect(talk.shown().map(({ text }) => text)).toEqual(Array.from({ length: 7 }, () => "Seen."));
  expect(await sidesIn(talk.requests[0])).toEqual([2_700]);
  for (const [at, body] of talk.requests.entries()) {
    const sides = await sidesIn(body);
    expect(sides.length, `request ${at + 1}`).toBeGreaterThanOrEqual(Math.min(1 + at * 4, 20));
    if (sides.length > 20) expect(Math.max(...sides)).toBeLessThanOrEqual(2_000);
    if (at > 0) expect(picturesIn(body).at(-1)).toEqual(photo);
  }
  expect(await sidesIn(talk.requests.at(-1))).toHaveLength(24);
  expect(JSON.stringify(talk.requests.at(-1))).toContain(
    "left out, too large for a request of so many pictures",
  );
}, 120_000);

it("THR-11: thirty large photos over thirty turns do not stick, though the provider has a limit on many pictures", async () => {
  const world = await startWorld();
  cleanups.push(() => world.close());
  let refused = 0;
  const talk = await world.talk({
    platform: "telegram",
    limits: MANY_IMAGES,
    // All of them are large, so that no more than six may stand together.
    says: (_asked, body) => {
      if (picturesIn(body).length <= 6) return "Seen.";
      refused += 1;
      return { fault: "status", status: 400, message: MANY_IMAGE_REFUSAL };
    },
  });
  // The case's own file is so heavy that few of it fit a request; large ones that are light reach the provider's limit.
  const heavy = await caseFile("noise_4_5MB.jpg");
  const light = await sharp({ create: { width: 2_600, height: 2_100, channels: 3, background: "teal" } })
    .jpeg()
    .toBuffer();
  for (let n = 1; n <= 30; n += 1) {
    await talk.send({ bytes: n % 10 === 0 ? heavy : light, sentAs: "photo" });
    await world.emulator.untilSent(Number(talk.chat), n);
    // The newest is there as it was sent.
    expect((await sidesIn(talk.requests.at(-1))).at(-1)).toBe(n % 10 === 0 ? 2_700 : 2_600);
  }
  expect(talk.shown().map(({ text }) => text)).toEqual(Array.from({ length: 30 }, () => "Seen."));
  // It is told once, and known from then on.
  expect([refused > 0, refused <= 3]).toEqual([true, true]);
}, 240_000);

/** As Anthropic says it. */
const MANY_IMAGE_REFUSAL =
  "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels";

const PLACES: readonly (readonly [channel: string, place: Place])[] = [
  ["telegram", { chat: "123", kind: "private" }],
  ["whatsapp", { chat: "123", kind: "private" }],
  ["telegram", { chat: "-123", kind: "group" }],
  ["telegram", { chat: "-100123", topic: "4", kind: "group" }],
  ["telegram", { chat: "-100123", topic: "5", kind: "group" }],
];

it("THR-01: five places that look alike are five threads, and the same after a restart", async () => {
  const channels = new Map(
    ["telegram", "whatsapp"].map((id) => [id, { ...OPEN_TO_ADA, allow: ["ada", "123", "-123", "-100123"] }]),
  );
  const rules = { channels, agents: new Map([[AGENT.name, AGENT]]) };
  const opened = async (folder?: string) => {
    const perch = await testGateway(folder === undefined ? {} : { folder });
    perch.gateway.use(rules);
    for (const id of channels.keys()) {
      const host = { ...perch.host, id };
      await perch.gateway.opened(id, await toyKind(perch.platform, {}).open({}, host));
    }
    return perch;
  };
  let said = 0;
  const threadsIn = async (perch: Awaited<ReturnType<typeof opened>>): Promise<readonly string[]> => {
    const threads: string[] = [];
    for (const [channel, place] of PLACES) {
      said += 1;
      const words = `words ${said}`;
      await perch.gateway.accept(channel, [
        {
          type: "message",
          id: `m${said}`,
          ref: `m${said}`,
          place,
          from: { id: "ada", name: "Ada" },
          sentAt: "2026-01-01T00:00:00.000Z",
          content: [{ type: "text", text: words }],
          addressed: true,
          whole: true,
        },
      ]);
      await perch.platform.until((shown) => shown.some(({ text }) => text?.includes(words)));
      threads.push(perch.asked.at(-1)?.thread ?? "none");
    }
    return threads;
  };
  const first = await opened();
  const threads = await threadsIn(first);
  expect(new Set(threads).size).toBe(5);
  expect(await threadsIn(first)).toEqual(threads);
  await first.gateway.stop(0);
  await first.database.close();
  const second = await opened(first.folder);
  cleanups.push(first.close, second.close);
  expect(await threadsIn(second)).toEqual(threads);
});

// What is damaged never reaches a model: that one is told of it in words. What is whole may be refused all the same.
it.each([
  ["truncated.jpg", 0],
  ["photo.jpg", 1],
])(
  "THR-03: a conversation with %s, which the model refuses, is cured where it is stored, so also after a restart",
  async (name, sent) => {
    const bytes = await caseFile(name);
    const server = await modelThat(({ body }) =>
      picturesIn(body).length === 0
        ? "seen"
        : { fault: "status", status: 400, message: "Invalid image data" },
    );
    const agent = { senses: { images: true, pdf: false, audio: false } };
    const first = await perchWith({ server, agent });
    await show(first, "ada", { bytes, filename: name, text: "what is that?" });
    expect(first.platform.textsIn("ada").at(-1)).toBe("seen");
    expect(server.requests.filter(({ body }) => picturesIn(body).length > 0)).toHaveLength(sent);
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain(name);

    const before = server.requests.length;
    const second = await restarted(first, { agent });
    await second.say("ada", "hello");
    expect(second.platform.textsIn("ada").at(-1)).toBe("seen");
    const after = server.requests.slice(before);
    expect(after.map(({ body }) => picturesIn(body).length)).toEqual([0]);
    expect(JSON.stringify(after)).toContain("hello");
  },
);

it("THR-05: a call without a result, six messages back in a stored thread, has one in the next request", async () => {
  const server = await modelThat("Hi.");
  const perch = await perchWith({ server });
  await perch.say("ada", "hello");
  const graph = createAgent({
    model: await loadModel(perch.agent.model, perch.blobs),
    checkpointer: new ThreadSaver({ store: threadStore(perch.database), blobs: perch.blobs, mediaTurns: 3 }),
  }).graph;
  const config = { configurable: { thread_id: "1/helper/1" } };
  const texts = [1, 2, 3].flatMap((n) => [
    new HumanMessage({ id: `h${n}`, content: `text ${n}` }),
    new AIMessage({ id: `p${n}`, content: `answer ${n}` }),
  ]);
  const orphan = new AIMessage({ id: "a1", content: "", tool_calls: [{ id: "c1", name: "dig", args: {} }] });
  await graph.updateState(config, {
    messages: [new HumanMessage({ id: "h0", content: "dig" }), orphan, ...texts],
  });
  const { messages } = (await graph.getState(config)).values as { readonly messages: readonly BaseMessage[] }; // of this graph
  expect(messages.at(-7)?.id).toBe("a1");

  const again = await restarted(perch, {});
  const asked = server.requests.length;
  await again.say("ada", "hi");
  expect(again.platform.textsIn("ada").at(-1)).toBe("Hi.");
  // The server refuses a request where a call has no result directly behind it, as OpenAI does.
  expect(server.requests).toHaveLength(asked + 1);
  expect(resultsAfterCalls(server.requests.at(-1)?.body)).toEqual([["c1"]]);
});

/** For each message with calls: the ids of the results directly behind it, as many as it has calls. */
function resultsAfterCalls(body: Json | undefined): readonly (readonly unknown[])[] {
  const messages = listOf(body?.["messages"]);
  return messages.flatMap((message, at) => {
    const calls = listOf(message["tool_calls"]);
    if (calls.length === 0) return [];
    return [messages.slice(at + 1, at + 1 + calls.length).map((result) => result["tool_call_id"])];
  });
}

it("THR-09: a picture of sixty turns ago is named in the summary, and is never read or counted as text there", async () => {
  const photo = await caseFile("photo.jpg");
  const server = await modelThat(({ body }) => {
    if (asksForSummary(body)) return "They spoke of this and that.";
    return JSON.stringify(listOf(body["messages"]).at(-1)).includes("Which bird")
      ? "A heron in the reeds."
      : "Yes.";
  });
  // Far less than the photo has as base64.
  const limits = { ...AGENT.limits, contextTokens: 3_500 };
  expect((photo.length * 4) / 3 / 4).toBeGreaterThan(limits.contextTokens);
  const agent = { senses: { images: true, pdf: false, audio: false }, limits };
  const perch = await perchWith({ server, agent });
  await show(perch, "ada", { bytes: photo, filename: "photo.jpg", text: "Which bird is that?" });
  expect(picturesIn(server.requests.at(-1)?.body)).toEqual([photo]);
  await perch.say("ada", "a short one");
  await perch.say("ada", "a second short one");
  expect(server.requests.filter(({ body }) => asksForSummary(body))).toEqual([]);
  for (let n = 1; n <= 60; n += 1) await perch.say("ada", `Question ${n} ${"word ".repeat(40)}`);
  const summaries = server.requests.map(({ body }) => body).filter(asksForSummary);
  expect(summaries.length).toBeGreaterThan(0);
  const [first] = summaries.map((body) => JSON.stringify(body));
  for (const words of ["photo.jpg", "Which bird is that?", "A heron in the reeds."])
    expect(first).toContain(words);
  const part = photo.toString("base64").slice(500, 600);
  for (const body of summaries) expect(JSON.stringify(body)).not.toContain(part);
  const after = server.requests.findIndex(({ body }) => asksForSummary(body)) + 1;
  expect(JSON.stringify(server.requests[after]?.body)).toMatch(/Shown in this part: image \\+"photo\.jpg/);
  expect(perch.platform.textsIn("ada")).toHaveLength(63);
});

it("MEM-19: no id of a platform is a part of a path, and no file is made outside the data folder", async () => {
  const ids = ["../../x@s.whatsapp.net", "a/b", "a", "b"];
  const server = await modelThat(({ body }) => {
    if (listOf(body["messages"]).at(-1)?.["role"] === "tool") return "Written.";
    return {
      toolCalls: [{ name: "write_file", args: { file_path: "/workspace/notes.txt", content: "theirs" } }],
    };
  });
  const parent = await mkdtemp(join(tmpdir(), "perch-ids-"));
  cleanups.push(() => rm(parent, { recursive: true, force: true }));
  const folder = join(parent, "deep", "data");
  await mkdir(folder, { recursive: true });
  const perch = await perchWith({ server, agent: { files: true }, rules: { allow: ids }, folder });
  for (const id of ids)
    await show(perch, id, {
      bytes: Buffer.from(`words of ${id}`),
      filename: "theirs.txt",
      text: "note it down",
    });
  expect([await readdir(parent), await readdir(join(parent, "deep"))]).toEqual([["deep"], ["data"]]);
  const made = await readdir(folder, { recursive: true });
  for (const name of made) expect(name).not.toMatch(/\.\.\/|whatsapp/);
  expect(await readdir(join(folder, "chats"))).toHaveLength(ids.length);
  for (const chat of await readdir(join(folder, "chats")))
    expect(await readdir(join(folder, "chats", chat, "workspace"))).toContain("notes.txt");
});

// So many updates as the case has are submitted in test/memory/queue.test.ts, where timers are counted as well.
const UPDATES = process.env["PERCH_LONG"] ? 500 : 100;

it("MEM-02: turns while a conversation is gone through make one batch more, that has all of them once", async () => {
  const limits = { ...AGENT.limits, messages: 2_000, characters: 1_000_000, contextTokens: 200_000 };
  const perch = await remembering({ rules: { turnsPerHour: 1_000 }, agent: { limits } });
  cleanups.push(perch.close);
  perch.note({ text: facts("is the first"), delayMs: 2_000 }, facts("is the last"));
  await perch.say("ada", "number-0-");
  await perch.clock.advance(30_000);
  await perch.until(() => perch.distilled().length === 1);
  for (let turn = 1; turn <= UPDATES; turn += 1) await perch.say("ada", `number-${turn}-`);
  // The first is still being asked, and nothing was asked beside it.
  expect(perch.distilled()).toHaveLength(1);
  await perch.wait(2_000, 1);
  await perch.clock.advance(30_000);
  await perch.until(() => perch.distilled().at(-1)?.includes(`number-${UPDATES}-`) === true);
  await perch.clock.advance(3_600_000);
  const asked = perch.distilled().slice(1);
  // One call has as much as a model reads well: 500 are three calls, one behind the other.
  expect(asked.length).toBeLessThanOrEqual(Math.ceil(UPDATES / 200));
  for (let turn = 1; turn <= UPDATES; turn += 1)
    expect(asked.filter((request) => request.includes(`number-${turn}-`))).toHaveLength(1);
  expect(await perch.remembered()).toEqual(["is the first", "is the last"]);
}, 120_000);

it("MEM-09: what cannot be read of a memory is one line in the log, and hinders no answer", async () => {
  const perch = await remembering();
  cleanups.push(perch.close);
  perch.note(facts("likes tea"));
  await perch.say("ada", "I like tea");
  await perch.wait(30_000, 1);
  perch.note(facts("has a dog"));
  await perch.say("ada", "I have a dog");
  await perch.wait(30_000, 2);
  await sql`update memory_fact set said_at = 'never' where content = 'likes tea'`.execute(perch.database.db);
  await perch.say("ada", "what do I like?");
  expect(perch.platform.textsIn("ada")).toEqual(["ok", "ok", "ok"]);
  const lines = perch.logged.filter(({ level }) => level === "warn" || level === "error");
  expect(JSON.stringify(perch.server.requests.at(-1)?.body)).toContain("has a dog");
  expect(lines.map(({ sentence }) => sentence)).toEqual(["something that is remembered could not be read"]);
  expect(JSON.stringify(lines)).not.toContain("tea");
});
