import { fileURLToPath } from "node:url";
import { tool } from "@langchain/core/tools";
import { interrupt } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { AgentAnswer, AgentRunner, AgentTurn } from "../../src/core/agent.ts";
import type { ContentBlock } from "../../src/core/blocks.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { StoredEffect } from "../../src/core/effects.ts";
import { answerIn, chosenOf, questionOf } from "../../src/agent/interrupts.ts";
import { createAgentRunner } from "../../src/agent/runner.ts";
import { ThreadSaver } from "../../src/agent/threads.ts";
import type { Database } from "../../src/store/database.ts";
import { threadStore } from "../../src/store/threads.ts";
import { memoryLog } from "../support/channel-host.ts";
import { eachDatabase } from "../support/database.ts";
import { definition, memoryBlobs, turn, holdChat } from "./set-up.ts";
import { toolBench, type ToolBench, toolWords } from "./tool-bench.ts";

const GRAPH = definition({
  graph: fileURLToPath(new URL("../fixtures/graphs/interrupts.js", import.meta.url)),
});

/** A runner as after a restart: a new one on the same database. */
function runnerOn(database: Database): AgentRunner {
  const blobs = memoryBlobs();
  return createAgentRunner({
    saver: async () => new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 2 }),
    blobs,
    clock: systemClock,
    log: memoryLog([]),
  });
}

async function asking(database: Database) {
  await holdChat(database);
  let runner = runnerOn(database);
  const run = async (
    id: string,
    said: string | readonly ContentBlock[],
    more: Partial<AgentTurn> = {},
  ): Promise<AgentAnswer> =>
    await runner.run({ ...turn(GRAPH, id, said), ...more }, new AbortController().signal);
  return {
    run,
    say: async (id: string, said: string | readonly ContentBlock[]) => (await run(id, said)).markdown,
    restart: () => void (runner = runnerOn(database)),
  };
}

eachDatabase("a graph that asks the person", (open) => {
  it("is answered by the next message, also after a restart", async () => {
    const { say, restart } = await asking(await open());
    expect(await say("1", "birds")).toBe("About birds: are you sure?");
    restart();
    expect(await say("2", "quite")).toBe("birds | one heard quite");
    expect(await say("3", "plain")).toBe("plain | plain of 4");
  });

  it("shows what it asks while text is shown, too", async () => {
    const { run } = await asking(await open());
    const shown: string[] = [];
    const onText = (text: string): void => void shown.push(text);
    expect((await run("1", "birds", { onText })).markdown).toBe("About birds: are you sure?");
    expect((await run("2", "quite", { onText })).markdown).toBe("birds | one heard quite");
    expect(shown.at(-1)).toBe("birds | one heard quite");
  });

  it("offers what it gives to choose from", async () => {
    const { run } = await asking(await open());
    expect(await run("1", "buttons")).toMatchObject({
      markdown: "Which colour?",
      choices: ["Red", "Blue"],
      replayed: false,
    });
    expect((await run("2", "Blue")).markdown).toBe("buttons | one heard Blue");
  });

  it("that gives no question has one of ours, in the person's language", async () => {
    const { run, say } = await asking(await open());
    expect((await run("1", "odd", { language: "de" })).markdown).toBe(
      "Ich brauche ein Wort von dir, um weiterzumachen.",
    );
    expect(await say("2", "well")).toBe("odd | one heard well");
    expect(await say("3", "message")).toBe("Tell me more.");
  });

  it("of two questions gets each its own answer, one after the other", async () => {
    const { say, restart } = await asking(await open());
    const first = await say("1", "both");
    restart();
    const second = await say("2", "A");
    restart();
    expect(new Set([first, second])).toEqual(new Set(["About both: are you sure?", "And the other?"]));
    const [own, others] = first.startsWith("About") ? ["A", "B"] : ["B", "A"];
    expect(await say("3", "B")).toBe(`one heard ${own} | other heard ${others}`);
  });

  it("is asked once only by a turn that is run again, before and after the answer", async () => {
    const { run, restart } = await asking(await open());
    await run("1", "birds");
    restart();
    expect(await run("1", "birds")).toMatchObject({ markdown: "About birds: are you sure?", replayed: true });
    const known: StoredEffect[] = [];
    const effects = {
      earlier: async () => known,
      begin: async (call: string, step: string) => void known.push({ call, step }),
      done: async () => {},
    };
    await run("2", "quite", { effects });
    restart();
    expect(await run("2", "quite", { effects })).toMatchObject({
      markdown: "birds | one heard quite",
      replayed: true,
    });
  });

  it("is not taken to have heard what has interrupted the turn that answered it", async () => {
    const { run, restart } = await asking(await open());
    const known: StoredEffect[] = [];
    const effects = {
      earlier: async () => known,
      begin: async (call: string, step: string) => void known.push({ call, step }),
      done: async () => {},
    };
    await run("1", "birds");
    await run("2", "quite", { effects });
    restart();
    const both = [
      { type: "text", text: "quite" },
      { type: "text", text: "plain" },
    ] as const;
    expect(await run("2", both, { effects, messages: 2 })).toMatchObject({ replayed: false });
  });

  it("is left with its question where somebody sends a picture, which begins a turn", async () => {
    const { say } = await asking(await open());
    await say("1", "birds");
    const photo = {
      type: "image",
      mimeType: "image/png",
      bytes: 3,
      blob: "sha256:0",
    } as unknown as ContentBlock;
    const answer = await say("2", [
      { type: "text", text: "plain" },
      { ...photo, note: "gone" } as ContentBlock,
    ]);
    expect(answer).toMatch(/^About |plain/);
    expect(answer).not.toContain("one heard");
  });

  it("that cannot go on with the answer is asked anew with it", async () => {
    const { say } = await asking(await open());
    await say("1", "birds");
    expect(await say("2", "throw")).toBe("About throw: are you sure?");
    expect(await say("3", "yes")).toBe("throw | one heard yes");
  });

  it("knows nothing of it in another thread, as after /new", async () => {
    const { run } = await asking(await open());
    await run("1", "birds");
    expect((await run("2", "plain", { thread: "7/helper/2" })).markdown).toBe("plain | plain of 1");
  });
});

describe("a tool of ours that asks the person", () => {
  const ask = tool(
    ({ what }) => `they say ${String(interrupt({ question: what, choices: ["Yes", "No"] }))}`,
    {
      name: "ask",
      description: "Asks",
      schema: z.object({ what: z.string() }),
    },
  );
  const asks = (id: string, what: string) => ({ id, name: "ask", args: { what } });

  eachDatabase("on threads", (open) => {
    const setUp = async (): Promise<ToolBench> => {
      const bench = await toolBench({ database: await open(), tools: [ask] });
      onTestFinished(bench.close);
      return bench;
    };

    it("goes on with what the next message says", async () => {
      const { server, run, restart, thread } = await setUp();
      server.reply({ text: "One moment.", toolCalls: [asks("a", "Sure?")] });
      expect(await run("1", "delete it")).toMatchObject({ markdown: "Sure?", choices: ["Yes", "No"] });
      restart();
      server.reply("Deleted.");
      expect((await run("2", "Yes")).markdown).toBe("Deleted.");
      expect(toolWords(server)).toBe("they say Yes");
      expect(await thread()).toEqual([
        "person: delete it",
        'model: One moment. ask({"what":"Sure?"})',
        "ask: they say Yes",
        "model: Deleted.",
      ]);
      expect(await run("2", "Yes")).toMatchObject({ markdown: "Deleted.", replayed: true });
      server.reply("Fine.");
      expect((await run("3", "thanks")).markdown).toBe("Fine.");
    });

    it("twice at once is answered one after the other", async () => {
      const { server, say, restart } = await setUp();
      server.reply({ toolCalls: [asks("a", "First?"), asks("b", "Second?")] });
      const one = await say("1", "go");
      restart();
      const two = await say("2", "1st");
      restart();
      expect([one, two].toSorted()).toEqual(["First?", "Second?"]);
      server.reply("Both.");
      expect(await say("3", "2nd")).toBe("Both.");
      expect(toolWords(server).split("\n").toSorted()).toEqual(["they say 1st", "they say 2nd"]);
    });

    it("twice at once hears no answer twice, where the turn that gave it is run again", async () => {
      const { server, run, restart } = await setUp();
      server.reply({ toolCalls: [asks("a", "First?"), asks("b", "Second?")] });
      const one = (await run("1", "go")).markdown;
      const two = (await run("2", "1st")).markdown;
      restart();
      expect(await run("2", "1st")).toMatchObject({ markdown: two, replayed: true });
      expect(one).not.toBe(two);
      server.reply("Both.");
      expect((await run("3", "2nd")).markdown).toBe("Both.");
      expect(toolWords(server).split("\n").toSorted()).toEqual(["they say 1st", "they say 2nd"]);
    });

    it("is answered by another attempt, where the first ended before anything came of it", async () => {
      const { server, run, restart, effects } = await setUp();
      server.reply({ toolCalls: [asks("a", "Sure?")] });
      await run("1", "go");
      // As a process that ends as soon as it was written down.
      const log = effects("2");
      const process = new AbortController();
      const dying = {
        ...log,
        earlier: () => log.earlier(),
        async begin(call: string, step: string) {
          await log.begin(call, step);
          process.abort(new Error("the process is gone"));
        },
      };
      await expect(run("2", "Yes", { effects: dying }, process.signal)).rejects.toThrow(
        "the process is gone",
      );
      restart();
      server.reply("Done.");
      expect((await run("2", "Yes")).markdown).toBe("Done.");
      expect(toolWords(server)).toBe("they say Yes");
    });

    it("again after its answer asks again", async () => {
      const { server, say } = await setUp();
      server.reply({ toolCalls: [asks("a", "First?")] });
      expect(await say("1", "go")).toBe("First?");
      server.reply({ toolCalls: [asks("b", "Then?")] });
      expect(await say("2", "one")).toBe("Then?");
      server.reply("Done with it.");
      expect(await say("3", "two")).toBe("Done with it.");
    });
  });
});

describe("what is asked", () => {
  it.each([
    ["Sure?", { markdown: "Sure?" }],
    [{ question: "Sure?" }, { markdown: "Sure?" }],
    [{ message: "Tell me" }, { markdown: "Tell me" }],
    [{ question: " ", message: "Tell me" }, { markdown: "Tell me" }],
    [
      { question: "Which?", choices: ["a", "a", "", 3, " b "] },
      { markdown: "Which?", choices: ["a", "b"] },
    ],
    [{ question: "Which?", choices: "a" }, { markdown: "Which?" }],
    ["", { markdown: "I need a word from you to go on." }],
    [null, { markdown: "I need a word from you to go on." }],
    [undefined, { markdown: "I need a word from you to go on." }],
    [42, { markdown: "I need a word from you to go on." }],
    [[{ action: "x" }], { markdown: "I need a word from you to go on." }],
    [{ choices: ["a"] }, { markdown: "I need a word from you to go on.", choices: ["a"] }],
  ])("by %j", (value, question) => {
    expect(questionOf({ id: "i1", value }, undefined)).toEqual({ ...question, asks: "i1" });
  });

  it("has at most twelve choices of 200 characters", () => {
    const value = { choices: Array.from({ length: 40 }, (_, at) => `${at}${"x".repeat(999)}`) };
    const { choices = [] } = questionOf({ id: "i1", value }, "en");
    expect([choices.length, Math.max(...choices.map((each) => each.length))]).toEqual([12, 200]);
  });
});

describe("what is chosen", () => {
  const asked = { question: "Which?", choices: ["Red", "3", "Blue"] };

  it.each([
    [asked, "Red", "Red"],
    [asked, "1", "Red"],
    [asked, " 2. ", "3"],
    [asked, "3", "3"],
    [asked, "4", "4"],
    [asked, "0", "0"],
    [asked, "the first", "the first"],
    ["How many?", "1", "1"],
  ])("from %j by %j", (value, words, chosen) => {
    expect(chosenOf({ id: "i1", value }, words)).toBe(chosen);
  });
});

describe("what is answered", () => {
  const text = (words: string): ContentBlock => ({ type: "text", text: words });
  const photo = { type: "image", mimeType: "image/png" } as unknown as ContentBlock;

  it.each([
    [[text("yes")], "yes"],
    [[text("[from Ada, 1]"), text("yes")], "yes"],
    [[text("[in reply to a message:]\n> Sure?"), text("yes"), text("but later")], "yes\nbut later"],
    [[text("[an empty message]")], "[an empty message]"],
    [[text("[from Ada, 1]"), text("> [quoted]")], "> [quoted]"],
    [[text("yes"), photo], undefined],
    [[photo], undefined],
    [[], undefined],
    [[text("  ")], undefined],
  ])("by %j", (content, words) => {
    expect(answerIn(content)).toBe(words);
  });
});
