import { type BaseMessage, isBaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentTurn, Steered } from "../../src/core/agent.ts";
import type { ContentBlock } from "../../src/core/blocks.ts";
import type { Json } from "../support/models/server.ts";
import { closeServers, type Served, served, type WireName } from "./model-servers.ts";
import { turn } from "./set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;
const choose = { name: "offer_choices", args: { choices: ["Yes", "No"] } };
/** Two calls of one step, and one of another. */
const TWO = {
  toolCalls: [
    { id: "c1", ...choose },
    { id: "c2", ...choose },
  ],
};
const ONE = { toolCalls: [{ id: "c3", ...choose }] };

function said(id: string, text: string): Steered {
  return { id, content: [{ type: "text", text }], sentAt: "2026-03-01T12:01:00Z" };
}
const PEAS = said("intent-2", "and peas");
const BEANS = said("intent-3", "and beans");

/** A turn that finds this before each step of its agent. */
function steered(world: Served, ...came: readonly (readonly Steered[])[]): AgentTurn {
  return { ...turn(world.agent, "intent-1", "buy rice"), steered: givenIn(...came) };
}

function givenIn(...came: readonly (readonly Steered[])[]): NonNullable<AgentTurn["steered"]> {
  const left = [...came];
  return async () => left.shift() ?? [];
}

/** Role and content of each message of a request, in the words of its protocol. */
function request({ server }: Served, at = -1): readonly unknown[] {
  const messages = server.requests.at(at)?.body["messages"] as readonly Json[]; // as the protocol has it
  return messages.map(({ role, content }) => [role, content]);
}

/** What stands in a request, in its order: these words, as far as it holds them. */
function order(world: Served, words: readonly string[], at = -1): readonly string[] {
  const body = JSON.stringify(world.server.requests.at(at)?.body);
  return words
    .map((word) => [word, body.indexOf(word)] as const)
    .filter(([, place]) => place >= 0)
    .toSorted(([, one], [, other]) => one - other)
    .map(([word]) => word);
}

async function thread(world: Served): Promise<readonly BaseMessage[]> {
  const kept = await world.saver.getTuple({ configurable: { thread_id: "7/helper/1" } });
  const messages: unknown = kept?.checkpoint.channel_values["messages"];
  return Array.isArray(messages) ? messages.filter(isBaseMessage) : [];
}

async function threadWords(world: Served): Promise<readonly string[]> {
  return (await thread(world)).map(({ type, text, id }) =>
    type === "human" ? `${id}: ${text}` : `${type}${text === "" || type === "tool" ? "" : `: ${text}`}`,
  );
}

describe.each([
  "openai",
  "responses",
  "anthropic",
  "google",
  "ollama",
] as const satisfies readonly WireName[])("what is said while a turn runs, over %s", (wire) => {
  it("is shown before the next step, in order, and stands in the thread before the answer", async () => {
    const world = await served(wire, { choices: true });
    world.server.reply(TWO, ONE, "All on the list.");
    const answer = await world.runner.run(steered(world, [], [PEAS], [BEANS]), never);
    expect(answer).toMatchObject({ markdown: "All on the list.", steered: ["intent-2", "intent-3"] });
    const words = ["buy rice", "and peas", "and beans", "All on the list.", "thanks"];
    expect([0, 1, 2].map((at) => order(world, words, at))).toEqual([
      words.slice(0, 1),
      words.slice(0, 2),
      words.slice(0, 3),
    ]);
    await world.say(world.agent, "intent-4", "thanks");
    expect(order(world, words)).toEqual(words);
    expect(await threadWords(world)).toEqual([
      "intent-1: buy rice",
      "ai",
      "tool",
      "tool",
      "intent-2: and peas",
      "ai",
      "tool",
      "intent-3: and beans",
      "ai: All on the list.",
      "intent-4: thanks",
      "ai: seen",
    ]);
  });
});

describe("what is said while a turn runs", () => {
  it("follows both results of a step, for OpenAI as a message of its own", async () => {
    const world = await served("openai", { choices: true });
    world.server.reply(TWO, "Done.");
    await world.runner.run(steered(world, [], [PEAS]), never);
    expect(request(world)).toEqual([
      ["user", "buy rice"],
      ["assistant", expect.anything()],
      ["tool", expect.stringContaining("as buttons below")],
      ["tool", expect.stringContaining("as buttons below")],
      ["user", "and peas"],
    ]);
  });

  it("follows both results of a step, for Anthropic as a message behind the one that has them", async () => {
    const world = await served("anthropic", { choices: true });
    world.server.reply(TWO, "Done.");
    await world.runner.run(steered(world, [], [PEAS]), never);
    expect(request(world)).toEqual([
      ["user", "buy rice"],
      ["assistant", [expect.objectContaining({ id: "c1" }), expect.objectContaining({ id: "c2" })]],
      [
        "user",
        [
          expect.objectContaining({ type: "tool_result", tool_use_id: "c1" }),
          expect.objectContaining({ type: "tool_result", tool_use_id: "c2" }),
        ],
      ],
      // Of two messages of one side the protocol makes one.
      ["user", "and peas"],
    ]);
  });

  it.each(["openai", "anthropic"] as const)(
    "leaves all that stood before it as it was, byte for byte, over %s",
    async (wire) => {
      const world = await served(wire, { choices: true });
      await world.say(world.agent, "intent-0", "hello");
      world.server.reply(TWO, ONE, "Done.");
      const local = {
        kind: "toy",
        chat: "private",
        people: ["Ada"],
        timeZone: "Europe/Berlin",
        now: 1_770_000_000_000,
      } as const;
      const asked = { ...steered(world, [], [PEAS], [BEANS]), local, recalled: "[Ada likes rice]" };
      await world.runner.run(asked, never);
      const [first = "", second = "", third = ""] = world.server.requests.slice(-3).map(({ body }) =>
        // Where a cache may begin is said anew with each request; it is none of what is cached.
        JSON.stringify(body["messages"])
          .replaceAll(/,?"cache_control":\{"type":"ephemeral"\}/g, "")
          .replaceAll(/\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}\]/g, "$1")
          .slice(1, -1),
      );
      expect(second.startsWith(first)).toBe(true);
      expect(third.startsWith(second.slice(0, second.indexOf("and peas")))).toBe(true);
      expect(third.indexOf("[Ada likes rice]")).toBe(first.indexOf("[Ada likes rice]"));
    },
  );

  it("is named again by an answer that stands in the thread, so that nobody answers it twice", async () => {
    const world = await served("openai", { choices: true });
    world.server.reply("Both.");
    await world.runner.run(steered(world, [PEAS]), never);
    expect(await world.runner.run(steered(world, [BEANS]), never)).toMatchObject({
      markdown: "Both.",
      replayed: true,
      steered: ["intent-2"],
    });
    expect(world.server.requests).toHaveLength(1);
  });

  it("has the answer of the turn it was shown in, where that failed behind it", async () => {
    const world = await served("openai");
    world.server.reply("Both.");
    await world.runner.run(steered(world, [PEAS]), never);
    const own = await world.runner.run(turn(world.agent, "intent-2", "and peas"), never);
    expect(own).toMatchObject({ markdown: "Both.", replayed: true });
    expect(own).not.toHaveProperty("steered");
  });

  it("waits for its own turn, and is gone from the thread, where its turn is run again", async () => {
    const world = await served("openai", { choices: true });
    const stop = new AbortController();
    world.server.reply(TWO, ONE, () => {
      stop.abort(new Error("the process is to end"));
      return { fault: "silence" };
    });
    const cutOff = world.runner.run(steered(world, [], [PEAS]), stop.signal);
    await expect(cutOff).rejects.toThrow("the process is to end");
    expect(await threadWords(world)).toContain("intent-2: and peas");
    world.server.reply("Rice.", "Peas.");
    expect(await world.say(world.agent, "intent-1", "buy rice")).toBe("Rice.");
    expect(await world.say(world.agent, "intent-2", "and peas")).toBe("Peas.");
    const words = await threadWords(world);
    expect(words.filter((line) => line.startsWith("intent-2"))).toEqual(["intent-2: and peas"]);
    expect(words.slice(-3)).toEqual(["ai: Rice.", "intent-2: and peas", "ai: Peas."]);
  });

  it("keeps its place where its turn has failed, and is asked there", async () => {
    const world = await served("openai", { choices: true });
    const stop = new AbortController();
    world.server.reply(TWO, ONE, () => {
      stop.abort(new Error("too long"));
      return { fault: "silence" };
    });
    await expect(world.runner.run(steered(world, [], [PEAS, BEANS]), stop.signal)).rejects.toThrow(
      "too long",
    );
    const before = await threadWords(world);
    expect(before.slice(-4)).toEqual(["intent-2: and peas", "intent-3: and beans", "ai", "tool"]);
    world.server.reply("Peas.", "Beans.");
    expect(await world.say(world.agent, "intent-2", "and peas")).toBe("Peas.");
    expect(await world.say(world.agent, "intent-3", "and beans")).toBe("Beans.");
    expect((await threadWords(world)).slice(4)).toEqual([
      "intent-2: and peas",
      "ai",
      "tool",
      "ai: Peas.",
      "intent-3: and beans",
      "ai: Beans.",
    ]);
  });

  it("stays in the thread where its question was summed up, whatever is asked next", async () => {
    const limits = { turnSeconds: 60, messages: 12, characters: 20_000, mediaTurns: 2 };
    const world = await served("openai", { choices: true, limits });
    for (const n of ["a", "b", "c"]) await world.say(world.agent, `intent-${n}`, n);
    world.server.reply(TWO, "All on the list.");
    await world.runner.run(steered(world, [], [PEAS]), never);
    world.server.reply("They talked of rice.", "Gladly.");
    await world.say(world.agent, "intent-4", "thanks");
    const kept = ["intent-2: and peas", "ai: All on the list.", "intent-4: thanks", "ai: Gladly."];
    expect(await threadWords(world)).toEqual(kept);
    world.server.reply("Bye.");
    await world.say(world.agent, "intent-5", "bye");
    expect(await threadWords(world)).toEqual([...kept, "intent-5: bye", "ai: Bye."]);
  });

  it("brings its pictures, which count as those of the question that it goes with", async () => {
    const world = await served("openai", {
      choices: true,
      limits: { turnSeconds: 60, messages: 40, characters: 20_000, mediaTurns: 1 },
    });
    const [first, second] = [await picture(world, 1), await picture(world, 2)];
    world.server.reply(TWO, "Seen.");
    const asked = {
      ...turn(world.agent, "intent-1", [first]),
      steered: givenIn([], [{ ...PEAS, content: [second] }]),
    };
    await world.runner.run(asked, never);
    const shown = JSON.stringify(world.server.requests.at(-1)?.body).match(/data:image\/png/g);
    expect(shown).toHaveLength(2);
  });
});

describe("a turn that was interrupted", () => {
  it("is answered anew with all that came, though an answer to the first of it stands already", async () => {
    const world = await served("openai");
    world.server.reply("Rice.", "Rice and peas.", "None.");
    const all: readonly ContentBlock[] = [{ type: "text", text: "buy rice" }, ...PEAS.content];
    await world.say(world.agent, "intent-1", "buy rice");
    const again = { ...turn(world.agent, "intent-1", all), messages: 2 };
    expect(await world.runner.run(again, never)).toMatchObject({
      markdown: "Rice and peas.",
      replayed: false,
    });
    expect(await world.runner.run(again, never)).toMatchObject({
      markdown: "Rice and peas.",
      replayed: true,
    });
    const more = { ...turn(world.agent, "intent-1", [...all, ...BEANS.content]), messages: 3 };
    expect(await world.runner.run(more, never)).toMatchObject({ markdown: "None.", replayed: false });
    expect(request(world)).toEqual([
      ["user", "buy rice"],
      ["assistant", "Rice."],
      ["user", "buy rice\nand peas"],
      ["assistant", "Rice and peas."],
      ["user", "buy rice\nand peas\nand beans"],
    ]);
  });

  it("goes on from what it has done, with what came in its question", async () => {
    const world = await served("openai", { choices: true });
    const stop = new AbortController();
    world.server.reply(TWO, ONE, () => {
      stop.abort(new Error("interrupted"));
      return { fault: "silence" };
    });
    await expect(world.runner.run(steered(world, [], [PEAS]), stop.signal)).rejects.toThrow("interrupted");
    world.server.reply("All three.");
    const all: readonly ContentBlock[] = [
      { type: "text", text: "buy rice" },
      ...PEAS.content,
      ...BEANS.content,
    ];
    await world.runner.run({ ...turn(world.agent, "intent-1", all), messages: 3 }, never);
    const words = await threadWords(world);
    expect(words[0]).toBe("intent-1: buy rice\nand peas\nand beans");
    expect(words.filter((line) => line.startsWith("intent"))).toHaveLength(1);
    expect(words.at(-1)).toBe("ai: All three.");
  });
});

async function picture({ blobs }: Served, n: number): Promise<ContentBlock> {
  const bytes = new Uint8Array([137, 80, 78, 71, n]);
  const blob = await blobs.put(bytes);
  return {
    type: "image",
    blob,
    mimeType: "image/png",
    bytes: bytes.length,
    width: 8,
    height: 8,
  };
}
