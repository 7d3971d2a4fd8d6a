import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import { base64, medium } from "./media-blocks.ts";
import { bench, definition, failure, turn } from "./set-up.ts";

const graph = (name: string): AgentDefinition =>
  definition({ graph: fileURLToPath(new URL(`../fixtures/graphs/${name}.js`, import.meta.url)) });

/** What the fixture slow-tool.js looks for. */
const hooks = globalThis as { slowToolCalled?: () => void; endSlowTool?: (result: string) => void };
afterEach(() => {
  delete hooks.slowToolCalled;
  delete hooks.endSlowTool;
});

describe("a graph that an operator brings", () => {
  it("answers, and remembers by our checkpointer", async () => {
    const { say } = bench();
    const agent = graph("echo");
    expect(await say(agent, "1", "hello")).toBe("1: hello");
    expect(await say(agent, "2", "again")).toBe("3: again");
  });

  it("answers also where its own agents speak to one another as humans", async () => {
    const { runner, say } = bench();
    const agent = graph("supervisor");
    expect(await say(agent, "1", "birds")).toBe("2: found of birds");
    expect(await say(agent, "2", "trees")).toBe("5: found of trees");
    expect(await runner.run(turn(agent, "1", "birds"), new AbortController().signal)).toMatchObject({
      markdown: "2: found of birds",
      replayed: true,
      refused: [],
    });
  });

  it("is given pictures, PDF and sound as standard blocks, and text for what stands for the rest", async () => {
    const { blobs, say } = bench();
    const answer = await say(graph("echo"), "1", [
      await medium(blobs, { type: "image", mimeType: "image/png", caption: "my cat" }, { bytes: "PNG" }),
      await medium(blobs, { mimeType: "application/pdf" }, { bytes: "PDF", text: "Dear" }),
      await medium(blobs, { type: "audio", mimeType: "audio/ogg" }, { bytes: "OGG" }),
      await medium(blobs, { mimeType: "text/plain" }, { text: "Dear reader" }),
      await medium(blobs, { type: "audio", mimeType: "audio/ogg" }, { transcript: "Hello there" }),
      await medium(blobs, { type: "video", mimeType: "video/mp4" }, { stills: ["0:02"] }),
    ]);
    expect(answer).toContain(`image image/png ${base64("PNG")} | my cat`);
    expect(answer).toContain(`file application/pdf ${base64("PDF")}`);
    expect(answer).toContain(`audio audio/ogg ${base64("OGG")}`);
    expect(answer).toMatch(/<document-\w+>\nDear reader\n<\/document-\w+>/);
    expect(answer).toMatch(/machine-made transcript of a voice note.*\n<transcript-\w+>\nHello there\n/);
    expect(answer).toContain(`[0:02] | image image/jpeg ${base64("0:02")}`);
  });

  it("is given words for what its operator says that its model does not take", async () => {
    const { blobs, runner, say } = bench();
    const deaf = { ...graph("echo"), senses: { images: false } };
    expect(await runner.senses(deaf)).toEqual({ images: false, pdf: true, audio: true });
    const answer = await say(deaf, "1", [
      await medium(blobs, { type: "image", mimeType: "image/png" }, { bytes: "PNG" }),
    ]);
    expect(answer).toBe("1: [image, image/png, 3 bytes: you are not shown its contents]");
  });

  it("whose model refuses a medium is run again with words for it, which is told once", async () => {
    const { blobs, runner } = bench();
    const agent = graph("refuses");
    const run = (id: string, said: Parameters<typeof turn>[2]) =>
      runner.run(turn(agent, id, said), new AbortController().signal);
    const photo = { type: "image", mimeType: "image/png", filename: "cat.png" } as const;
    const bad = await medium(blobs, photo, { bytes: "BAD" });
    const good = await medium(blobs, { ...photo, filename: "dog.png" }, { bytes: "GOOD" });

    expect(await run("1", [good])).toMatchObject({ markdown: "1 shown of 1", replayed: false, refused: [] });
    expect(await run("2", [bad, { type: "text", text: "who is it?" }])).toMatchObject({
      markdown: "1 shown of 3",
      replayed: false,
      refused: ["cat.png"],
    });
    expect(await run("3", "and now?")).toMatchObject({
      markdown: "1 shown of 5",
      replayed: false,
      refused: [],
    });
  });

  it("whose model refuses what it took before goes on without any media of the thread", async () => {
    const { blobs, say } = bench();
    const agent = graph("refuses");
    const media = await Promise.all(
      ["ONE", "TWO"].map((bytes) => medium(blobs, { type: "image", mimeType: "image/png" }, { bytes })),
    );
    await say(agent, "1", media);
    expect(await say(agent, "2", "no pictures any more")).toBe("0 shown of 3");
    expect(await say(agent, "3", "and now?")).toBe("0 shown of 5");
  });

  it("whose model refuses a request without media fails at once, and may answer the next", async () => {
    const { say } = bench();
    const agent = graph("refuses");
    expect((await failure(say(agent, "1", "no words"))).code).toBe("model.failed");
    expect(await say(agent, "2", "hello")).toBe("0 shown of 2");
  });

  it("shows its text to who asked for it", async () => {
    const { runner } = bench();
    const shown: string[] = [];
    const streaming = {
      ...turn(graph("echo"), "1", "hello"),
      onText: (text: string) => void shown.push(text),
    };
    await runner.run(streaming, new AbortController().signal);
    expect(shown.at(-1)).toBe("1: hello");
  });

  it("shows an assistant's text alone, never what a tool gave", async () => {
    const { runner } = bench();
    const shown: string[] = [];
    hooks.slowToolCalled = () => hooks.endSlowTool?.("from the tool");
    const asked = turn(graph("slow-tool"), "1", "use the tool");
    const { markdown } = await runner.run(
      { ...asked, onText: (text) => void shown.push(text) },
      new AbortController().signal,
    );
    expect(markdown).toBe("human:use the tool | ai:One moment. | tool:from the tool");
    expect(shown).toEqual(["One moment.", markdown]);
  });

  it("can be aborted while its tool runs, and the next turn finds a sound thread", async () => {
    const { runner, say } = bench();
    const agent = graph("slow-tool");
    const controller = new AbortController();
    const reason = new Error("stopped by the person");
    hooks.slowToolCalled = () => controller.abort(reason);
    await expect(runner.run(turn(agent, "1", "use the tool"), controller.signal)).rejects.toBe(reason);
    hooks.endSlowTool?.("too late");

    const sound =
      "human:use the tool | ai:One moment. | tool:This call was interrupted before it had a result. | human:hello";
    expect(await say(agent, "2", "hello")).toBe(sound);
  });

  it.each([
    [
      "not-a-graph",
      "has no compiled graph as its default export; end it with: export default graph.compile()",
    ],
    ["no-messages", 'is a graph without a "messages" channel; build it on MessagesAnnotation'],
    ["own-checkpointer", "has a checkpointer of its own; compile it without one, Perch keeps its threads"],
  ])("is refused with a sentence: %s", async (name, words) => {
    const agent = graph(name);
    expect(await failure(bench().say(agent, "1", "hello"))).toMatchObject({
      code: "agent.invalid",
      message: `agent "helper": ${agent.graph} ${words}`,
    });
  });

  it("is refused when its file is not there", async () => {
    const missing = await failure(bench().say(graph("nowhere"), "1", "hello"));
    expect(missing.code).toBe("agent.invalid");
    expect(missing.message).toContain("nowhere.js could not be loaded");
  });
});
