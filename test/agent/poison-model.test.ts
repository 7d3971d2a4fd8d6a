import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createAgentRunner } from "../../src/agent/runner.ts";
import { ThreadSaver } from "../../src/agent/threads.ts";
import { hasCode } from "../../src/core/errors.ts";
import { say } from "../../src/core/sentences.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { threadStore } from "../../src/store/threads.ts";
import { memoryLog } from "../support/channel-host.ts";
import { onSqlite } from "../support/database.ts";
import type { Reply } from "../support/models/server.ts";
import { closeServers, served, type WireName } from "./model-servers.ts";
import { hurried, turn } from "./set-up.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-"));
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(closeServers);

const open = onSqlite();
const never = new AbortController().signal;

type Said = Exclude<Reply, (...args: never[]) => unknown>;

type World = {
  /** What the model says next, in place of what it was to say; after that it says hello. */
  readonly script: (replies: readonly Said[]) => void;
  /** One turn; what was answered, or the code that it failed with. */
  readonly ask: (id: string, said: string, streams?: boolean) => Promise<string>;
};

/** An agent whose threads stand in a database of files, in a chat that it holds. */
async function setUp(wire: WireName): Promise<World> {
  const database = await open();
  const row = { channel: "c", kind: "private", owner: "test", epoch: 1, until: 0 } as const;
  const { id: chat } = await database.db
    .insertInto("chat")
    .values(row)
    .returning("id")
    .executeTakeFirstOrThrow();
  const blobs = new FileBlobs(join(folder, "blobs"));
  const saver = new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 2 });
  const runner = createAgentRunner({ saver: async () => saver, blobs, clock: hurried, log: memoryLog([]) });
  // A window that fills is summed up, which would take what is scripted.
  const limits = { turnSeconds: 60, messages: 1000, characters: 1_000_000, mediaTurns: 2 };
  const { server, agent } = await served(wire, { todos: true, choices: true, limits });
  const ask = async (id: string, said: string, streams = false): Promise<string> => {
    const asked = {
      ...turn(agent, id, said),
      hold: { chat, owner: "test", epoch: 1 },
      thread: `${chat}/helper/1`,
    };
    try {
      return (await runner.run(streams ? { ...asked, onText: () => {} } : asked, never)).markdown;
    } catch (error) {
      if (hasCode(error, "model.failed")) return "model.failed";
      throw error;
    }
  };
  let script: Said[] = [];
  server.reply(...Array<Reply>(300).fill(() => script.shift() ?? "hello yourself"));
  return { script: (replies) => void (script = [...replies]), ask };
}

const status = (code: number, message?: string): Said => ({
  fault: "status",
  status: code,
  ...(message === undefined ? {} : { message }),
});
const call = (name: string, args: object, more: object = {}): Said => ({
  text: "One moment.",
  toolCalls: [{ name, args: { ...args }, ...more }],
});
const offer = { choices: ["tea", "coffee"] };
const failed = "model.failed";
const refused = say("answer.refused");
const blank = say("answer.blank");
const cutHere = say("answer.cut_here");

type Poison = readonly [name: string, replies: readonly Said[], answer: string];

/** What goes wrong, in the words of each provider, and what the person is told. */
const poisons = (finish: { readonly refusal: string; readonly length: string }): readonly Poison[] => [
  ["refuses the request (400)", [status(400), status(400), status(400)], failed],
  ["refuses the key (401)", [status(401)], failed],
  ["has no more room for requests (429)", [status(429), status(429), status(429)], failed],
  ["fails on its own side (500)", [status(500), status(500), status(500)], failed],
  ["breaks off", [{ fault: "reset" }, { fault: "reset" }, { fault: "reset" }], failed],
  ["refuses to answer", [{ text: "", finish: finish.refusal }], refused],
  [
    "refuses after a call",
    [{ toolCalls: [{ name: "offer_choices", args: offer }], finish: finish.refusal }],
    refused,
  ],
  ["says nothing", [{ text: "" }, { text: "" }], blank],
  ["says blanks", [{ text: " \n" }, { text: " " }], blank],
  ["is cut in its text", [{ text: "And so", finish: finish.length }], `And so\n\n_${cutHere}_`],
  [
    "is cut in its call",
    [{ toolCalls: [{ name: "offer_choices", args: offer }], finish: finish.length }, "In short."],
    "In short.",
  ],
  [
    "gives arguments that do not fit",
    [call("offer_choices", { choices: 7 }), "I could not."],
    "I could not.",
  ],
  ["calls a tool that is not there", [call("gone", {}), "I could not."], "I could not."],
  [
    "gives two calls one id",
    [
      {
        toolCalls: [
          { name: "offer_choices", args: offer, id: "same" },
          { name: "offer_choices", args: offer, id: "same" },
        ],
      },
      "Which?",
    ],
    "Which?",
  ],
];

/** What is answered where this goes wrong, and to a plain message after it. */
async function poisoned(
  world: World,
  id: string,
  replies: readonly Said[],
  streams = false,
): Promise<readonly [answer: string, then: string]> {
  world.script(replies);
  const answer = await world.ask(`${id}-go`, "go", streams);
  world.script([]);
  return [answer, await world.ask(`${id}-hello`, "hello", streams)];
}

describe.each([
  ["openai", { refusal: "content_filter", length: "length" }],
  ["anthropic", { refusal: "refusal", length: "max_tokens" }],
] as const)("the next plain message is answered after a model, over %s,", (wire, finish) => {
  it.each(poisons(finish))("%s", async (_name, replies, answer) => {
    const world = await setUp(wire);
    expect(await poisoned(world, "1", replies)).toEqual([answer, "hello yourself"]);
  });

  it.each([false, true])(
    "did all of that in one thread, one after the other (streamed: %s)",
    async (streams) => {
      const world = await setUp(wire);
      for (const [at, [, replies, answer]] of poisons(finish).entries())
        expect(await poisoned(world, `${at}`, replies, streams)).toEqual([answer, "hello yourself"]);
    },
  );

  it("takes no more than a part of the thread", async () => {
    const world = await setUp(wire);
    for (let n = 0; n < 6; n += 1) await world.ask(`b${n}`, `before ${n}`);
    const tooLong = status(400, "prompt is too long: 300000 tokens > 200000 maximum context length");
    // However often it is asked with less, it takes none of it.
    const [, then] = await poisoned(world, "1", Array<Said>(40).fill(tooLong));
    expect(then).toBe("hello yourself");
  });
});

describe("the next plain message is answered after a model, over openai,", () => {
  it("wrote arguments that are no JSON", async () => {
    const world = await setUp("openai");
    const written = call("offer_choices", {}, { written: '{"choices": ["tea"' });
    expect(await poisoned(world, "1", [written, "I could not."])).toEqual(["I could not.", "hello yourself"]);
  });
});
