import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition, ModelChoice } from "../../../src/core/agent.ts";
import type { Reply } from "../../support/models/server.ts";
import { base64, medium } from "../media-blocks.ts";
import { closeServers, served, type Served, WIRES, type WireName } from "../model-servers.ts";
import { failure, hurried, turn } from "../set-up.ts";

afterEach(closeServers);

const WIRE_NAMES = Object.keys(WIRES) as readonly WireName[]; // of a literal
const status = (code: number, message?: string): Reply => ({
  fault: "status",
  status: code,
  ...(message === undefined ? {} : { message }),
});

/** An agent of `first`, and behind it a model of each of the others. */
async function chain(first: WireName, ...others: readonly WireName[]) {
  const behind = await Promise.all(others.map((wire) => served(wire)));
  const fallbacks = behind.map(({ agent }) => agent.model);
  const told = await served(first, { fallbacks }, {}, hurried);
  return { told, behind };
}

const say = (told: Served, id: string, said: Parameters<typeof turn>[2]) =>
  told.runner.run(turn(told.agent, id, said), new AbortController().signal);

describe("a model that does not answer", () => {
  it.each(WIRE_NAMES)("has another asked in its place, by the protocol of %s", async (wire) => {
    const { told, behind } = await chain(wire, "openai");
    told.server.reply(status(401));
    behind[0]!.server.reply("in its place");
    expect((await say(told, "1", "hello")).markdown).toBe("in its place");
    expect(told.server.requests).toHaveLength(1);
  });

  it.each([
    ["a refused key", status(401), 1],
    ["a used up account", status(402), 1],
    ["an unknown model", status(404), 1],
    ["a request that it does not take", status(400), 1],
    ["a failure of its own, after it was tried again", status(500), 3],
    ["a connection that breaks, after it was tried again", { fault: "reset" } as const, 3],
  ])("has another asked for %s", async (_why, reply, requests) => {
    const { told } = await chain("openai", "anthropic");
    told.server.reply(reply, reply, reply);
    expect((await say(told, "1", "hello")).markdown).toBe("seen");
    expect(told.server.requests).toHaveLength(requests);
  });

  it("has the next ones asked in their order", async () => {
    const { told, behind } = await chain("openai", "anthropic", "google");
    told.server.reply(status(401));
    behind[0]!.server.reply(status(404));
    behind[1]!.server.reply("the third");
    expect((await say(told, "1", "hello")).markdown).toBe("the third");
  });

  it("fails as it failed itself where no other answers either", async () => {
    const { told, behind } = await chain("openai", "anthropic");
    told.server.reply(status(402));
    behind[0]!.server.reply(status(401));
    expect(await failure(say(told, "1", "hello"))).toMatchObject({ code: "model.failed", reason: "quota" });
  });

  it("fails as it failed itself where another cannot be loaded", async () => {
    const unknown: ModelChoice = { provider: "nobody", name: "m" };
    const told = await served("openai", { fallbacks: [unknown] }, {}, hurried);
    told.server.reply(status(402));
    expect(await failure(say(told, "1", "hello"))).toMatchObject({ code: "model.failed", reason: "quota" });
  });

  it("is asked first again with the next question", async () => {
    const { told } = await chain("openai", "anthropic");
    told.server.reply(status(401));
    await say(told, "1", "hello");
    told.server.reply("here again");
    expect((await say(told, "2", "and now?")).markdown).toBe("here again");
  });

  it("is not asked in another's stead what its provider refuses", async () => {
    const { told, behind } = await chain("openai", "anthropic");
    told.server.reply(status(400, "flagged by our content policy"));
    expect(await failure(say(told, "1", "hello"))).toMatchObject({ reason: "refused" });
    expect(behind[0]!.server.requests).toEqual([]);
  });
});

describe("a model that is asked in another's place", () => {
  it("is shown what it takes itself, whatever the operator says of the other's senses", async () => {
    const { told, behind } = await chain("openai", "anthropic");
    const agent: AgentDefinition = { ...told.agent, senses: { images: false } };
    const photo = await medium(told.blobs, { type: "image", mimeType: "image/jpeg" }, { bytes: "PHOTO" });
    told.server.reply(status(401));
    await told.runner.run(turn(agent, "1", [photo]), new AbortController().signal);
    expect(JSON.stringify(told.server.requests[0]?.body)).not.toContain(base64("PHOTO"));
    expect(behind[0]!.sentText()).toContain(base64("PHOTO"));
  });

  it("may be one that knows no tools", async () => {
    const demo: ModelChoice = { provider: "demo", name: "demo" };
    const told = await served("openai", { fallbacks: [demo], choices: true }, {}, hurried);
    told.server.reply(status(401));
    expect((await say(told, "1", "hello")).markdown).not.toBe("");
  });

  // Every pair: what one has said must be fit for the other, with its thoughts, calls and results.
  const PAIRS = WIRE_NAMES.flatMap((from) =>
    WIRE_NAMES.filter((to) => to !== from).map((to) => [from, to] as const),
  );

  it.each(PAIRS)("takes over what %s has said before, by the protocol of %s", async (from, to) => {
    const { told, behind } = await chain(from, to);
    const agent = { ...told.agent, choices: true };
    const ask = (id: string, said: string) =>
      told.runner.run({ ...turn(agent, id, said), onText: () => {} }, new AbortController().signal);
    told.server.reply({
      reasoning: "hm",
      text: "Let me ask.",
      toolCalls: [{ id: "functions.offer:0", name: "unknown_tool", args: { a: 1 } }],
    });
    told.server.reply({ reasoning: "hm", text: "No such tool." });
    await ask("1", "hello");
    told.server.reply(status(401));
    behind[0]!.server.reply("taken over");
    expect((await ask("2", "and now?")).markdown).toBe("taken over");
    const sent = JSON.stringify(behind[0]!.server.requests[0]?.body);
    expect(sent).toContain("Let me ask.");
    expect(sent).toContain("No such tool.");
    expect(sent).not.toContain("functions.offer:0");
    expect(sent).not.toContain('"hm"');
  });
});

describe("what was streamed of a broken try", () => {
  it.each(WIRE_NAMES)("does not stick to the answer, by the protocol of %s", async (wire) => {
    const told = await served(wire, {}, {}, hurried);
    told.server.reply({ fault: "reset-mid-stream", text: "this is not it", words: 2 }, "the answer itself");
    const shown: string[] = [];
    const said = { ...turn(told.agent, "1", "hello"), onText: (text: string) => shown.push(text) };
    const answer = await told.runner.run(said, new AbortController().signal);
    expect(answer.markdown).toBe("the answer itself");
    expect(shown.at(-1)).toBe("the answer itself");
    expect(shown.some((text) => text.includes("this") && text.includes("answer"))).toBe(false);
  });

  it("does not stick where another model goes on", async () => {
    const { told, behind } = await chain("openai", "anthropic");
    const broken: Reply = { fault: "reset-mid-stream", text: "this is not it", words: 2 };
    told.server.reply(broken, broken, broken);
    behind[0]!.server.reply("the answer itself");
    const shown: string[] = [];
    const said = { ...turn(told.agent, "1", "hello"), onText: (text: string) => shown.push(text) };
    expect((await told.runner.run(said, new AbortController().signal)).markdown).toBe("the answer itself");
    expect(shown.at(-1)).toBe("the answer itself");
  });
});
