import { tool } from "@langchain/core/tools";
import { interrupt } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { ContentBlock } from "../../src/core/blocks.ts";
import { onSqlite } from "../support/database.ts";
import { manualClock } from "../support/clock.ts";
import type { WireName } from "./model-servers.ts";
import { toolBench, type ToolBench, toolWords } from "./tool-bench.ts";

/** Everything that a tool can do to a turn, and a way to reach those that hang. */
function tools() {
  const hanging: { begun: () => void } = { begun: () => {} };
  const begun = new Promise<void>((resolve) => (hanging.begun = resolve));
  const none = z.object({});
  return {
    begun,
    all: [
      tool(() => "well", { name: "works", description: "Works", schema: none }),
      tool(
        () => {
          throw new Error("out of paper at /usr/lib/paper/tray.js");
        },
        { name: "throws", description: "Throws", schema: none },
      ),
      tool(
        () =>
          new Promise<string>(() => {
            hanging.begun();
          }),
        { name: "hangs", description: "Hangs", schema: none },
      ),
      tool(() => "0123456789".repeat(500_000), { name: "floods", description: "Floods", schema: none }),
      tool(() => String.fromCharCode(0, 1, 0xd800, 27, 65).repeat(10_000), {
        name: "garbles",
        description: "Gives what is no text",
        schema: none,
      }),
      tool(({ count }) => `counted ${count}`, {
        name: "counts",
        description: "Counts",
        schema: z.object({ count: z.number() }),
      }),
      tool(() => `heard ${String(interrupt("Which one?"))}`, {
        name: "asks",
        description: "Asks",
        schema: none,
      }),
    ],
  };
}

const call = (name: string, id = `call_${name}`, args = {}) => ({ id, name, args });

describe.each(["openai", "anthropic"] as const)("a thread over %s after", (wire: WireName) => {
  const open = onSqlite();

  async function setUp(): Promise<
    ToolBench & { readonly begun: Promise<void>; readonly clock: ReturnType<typeof manualClock> }
  > {
    const clock = manualClock();
    const { begun, all } = tools();
    const bench = await toolBench({
      database: await open(),
      tools: all,
      wire,
      clock,
      fields: { files: true },
    });
    onTestFinished(bench.close);
    return { ...bench, begun, clock };
  }

  /** The server refuses what the provider would: a thread that is not whole is not answered. */
  async function answersNext({ server, say, restart }: ToolBench): Promise<void> {
    for (const [id, said] of [
      ["next", "are you there?"],
      ["last", "and now?"],
    ] as const) {
      server.reply(`Yes, to ${said}`);
      expect(await say(id, said)).toBe(`Yes, to ${said}`);
      restart();
    }
  }

  it.each([
    ["a tool that throws", call("throws"), "Error: out of paper at …/tray.js"],
    [
      "a tool that returns 5 MB",
      call("floods"),
      "5,000,000 characters. All of it is in /workspace/results/floods-call_floods.txt",
    ],
    [
      "a tool that returns what is no text",
      call("garbles"),
      "characters. All of it is in /workspace/results/",
    ],
    ["a tool that there is not", call("flies"), 'Error: there is no tool \\"flies\\"'],
    [
      "arguments that do not fit",
      call("counts", "c", { count: "many" }),
      "Error: the arguments do not fit what",
    ],
  ])("%s answers that turn and the next", async (_what, called, told) => {
    const bench = await setUp();
    bench.server.reply({ toolCalls: [called] }, "Sorry, that did not work.");
    expect(await bench.say("1", "go on")).toBe("Sorry, that did not work.");
    expect(
      JSON.stringify(toolWords(bench.server)).replaceAll("\\\\", "\\").replaceAll('\\\\"', '\\"'),
    ).toContain(told);
    expect(JSON.stringify(bench.server.requests.at(-1)?.body).length).toBeLessThan(30_000);
    await answersNext(bench);
  });

  it("a tool that hangs answers that turn once its time is over, and the next", async () => {
    const bench = await setUp();
    bench.server.reply({ toolCalls: [call("hangs"), call("works")] }, "It took too long.");
    const turn = bench.say("1", "go on");
    await bench.begun;
    await bench.clock.advance(120_000);
    expect(await turn).toBe("It took too long.");
    expect(toolWords(bench.server)).toContain("took longer than 120 s and was given up");
    await answersNext(bench);
  });

  it("a stop in the middle of a tool answers the next", async () => {
    const bench = await setUp();
    bench.server.reply({ toolCalls: [call("hangs")] });
    const stop = new AbortController();
    const turn = bench.run("1", "go on", {}, stop.signal);
    await bench.begun;
    stop.abort(new Error("stopped"));
    await expect(turn).rejects.toThrow("stopped");
    await answersNext(bench);
  });

  it("two calls of which one has a result answers the next", async () => {
    const bench = await setUp();
    bench.server.reply({ text: "Both.", toolCalls: [call("works"), call("hangs")] });
    const stop = new AbortController();
    const turn = bench.run("1", "go on", {}, stop.signal);
    await bench.begun;
    stop.abort(new Error("stopped"));
    await expect(turn).rejects.toThrow("stopped");
    bench.restart();
    await answersNext(bench);
    expect((await bench.thread()).filter((line) => line.startsWith("model: Both"))).toHaveLength(1);
  });

  it("a crash in the middle of a tool answers that turn anew, and the next", async () => {
    const bench = await setUp();
    bench.server.reply({ toolCalls: [call("works"), call("hangs")] });
    const end = new AbortController();
    const lost = bench.run("1", "go on", {}, end.signal);
    await bench.begun;
    // Nobody hears of the process any more; what is known is what was written until now.
    bench.restart();
    bench.server.reply({ toolCalls: [call("works", "again")] }, "Now it is done.");
    expect(await bench.say("1", "go on")).toBe("Now it is done.");
    await answersNext(bench);
    end.abort(new Error("the test is over"));
    await expect(lost).rejects.toThrow("the test is over");
  });

  it("a question of a tool that is answered with something else answers both", async () => {
    const bench = await setUp();
    bench.server.reply({ toolCalls: [call("asks")] });
    expect(await bench.say("1", "go on")).toBe("Which one?");
    bench.restart();
    bench.server.reply("The weather is fine, then.");
    expect(await bench.say("2", "how is the weather?")).toBe("The weather is fine, then.");
    expect(toolWords(bench.server)).toContain("heard how is the weather?");
    await answersNext(bench);
  });

  it("a question of a tool that a picture comes upon is put aside, and answers the next", async () => {
    const bench = await setUp();
    bench.server.reply({ toolCalls: [call("asks")] });
    expect(await bench.say("1", "go on")).toBe("Which one?");
    bench.restart();
    const photo: ContentBlock = {
      type: "image",
      mimeType: "image/png",
      bytes: 3,
      blob: `sha256:${"0".repeat(64)}`,
      caption: "look",
    };
    bench.server.reply("A fine picture.");
    expect((await bench.run("2", [photo])).markdown).toBe("A fine picture.");
    expect(toolWords(bench.server)).toContain("interrupted before it had a result");
    await answersNext(bench);
  });
});
