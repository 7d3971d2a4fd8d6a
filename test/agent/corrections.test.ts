import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentTurn, CorrectionWords } from "../../src/core/agent.ts";
import { newest } from "../../src/agent/harness/window.ts";
import { correctionMessage, humanMessage } from "../../src/agent/messages.ts";
import type { Json } from "../support/models/server.ts";
import { closeServers, type Served, served, type WireName } from "./model-servers.ts";
import { turn } from "./set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;
const SEVEN: CorrectionWords = { id: "edit-7", text: "[edited while you answer: it now says:]\n> at eight" };
const EIGHT: CorrectionWords = { id: "edit-8", text: "[edited while you answer: it now says:]\n> at nine" };
const callsTool = { toolCalls: [{ name: "offer_choices", args: { choices: ["Yes", "No"] } }] };

/** Each entry is what has come by a step of the agent. */
function corrected(world: Served, ...steps: readonly (readonly CorrectionWords[])[]): AgentTurn {
  const left = [...steps];
  return { ...turn(world.agent, "1", "Book a table at seven"), corrections: () => left.shift() ?? [] };
}

/** What stands in a request, in its order: one word for each of these that it holds. */
function order(world: Served, request = -1): readonly string[] {
  const body = JSON.stringify(world.server.requests.at(request)?.body);
  const places = ["at seven", "at eight", "at nine", "as buttons below", "Booked.", "thanks"].map(
    (words) => [words, body.indexOf(words)] as const,
  );
  return places
    .filter(([, at]) => at >= 0)
    .toSorted(([, one], [, other]) => one - other)
    .map(([words]) => words);
}

describe.each([
  "openai",
  "responses",
  "anthropic",
  "google",
  "ollama",
] as const satisfies readonly WireName[])("a correction, over %s", (wire) => {
  it("is told before the next step, and stands in the thread before what was answered to it", async () => {
    const world = await served(wire, { choices: true });
    world.server.reply(callsTool, callsTool, "Booked.");
    const answer = await world.runner.run(corrected(world, [SEVEN], [], [EIGHT]), never);
    expect(answer).toMatchObject({ markdown: "Booked.", corrected: ["edit-7", "edit-8"] });
    expect(order(world, 0)).toEqual(["at seven", "at eight"]);
    expect(order(world, 1)).toEqual(["at seven", "at eight", "as buttons below"]);
    expect(order(world, 2)).toEqual(["at seven", "at eight", "as buttons below", "at nine"]);
    await world.say(world.agent, "2", "thanks");
    expect(order(world)).toEqual([
      "at seven",
      "at eight",
      "as buttons below",
      "at nine",
      "Booked.",
      "thanks",
    ]);
    expect(JSON.stringify(world.server.requests.at(-1)?.body).split("Booked.")).toHaveLength(2);
  });
});

describe("a correction", () => {
  it("is named again by an answer that stands in the thread, so that nobody tells of it twice", async () => {
    const world = await served("openai");
    world.server.reply("Booked.", "You are welcome.");
    await world.runner.run(corrected(world, [SEVEN]), never);
    await world.say(world.agent, "2", "thanks");
    expect(await world.runner.run(corrected(world, [EIGHT]), never)).toMatchObject({
      markdown: "Booked.",
      replayed: true,
      refused: [],
      corrected: ["edit-7"],
    });
    expect(await world.runner.run(turn(world.agent, "2", "thanks"), never)).not.toHaveProperty("corrected");
    expect(world.server.requests).toHaveLength(2);
  });

  it("stands where it was told, before a call that nobody could read and what was said to that", async () => {
    const world = await served("openai", { choices: true });
    world.server.reply({ toolCalls: [{ name: "offer_choices", args: {}, written: "Tea" }] }, "Booked.");
    await world.runner.run(corrected(world, [SEVEN]), never);
    const stands = (at: number): readonly unknown[] =>
      (world.server.requests.at(at)!.body["messages"] as readonly Json[]).map(({ role }) => role); // as the protocol has it
    const told = stands(-1);
    expect(told).toEqual(["user", "user", "assistant", "tool"]);
    await world.say(world.agent, "2", "thanks");
    expect(stands(-1)).toEqual([...told, "assistant", "user"]);
  });

  it("is shown once in a stream that shows the answer as it grows", async () => {
    const world = await served("openai");
    world.server.reply("one two");
    const shown: string[] = [];
    const asked = { ...corrected(world, [SEVEN]), onText: (text: string) => void shown.push(text) };
    expect(await world.runner.run(asked, never)).toMatchObject({ markdown: "one two" });
    expect([...new Set(shown)]).toEqual(["one", "one two"]);
  });

  it("is kept with its question however long the tools go on", () => {
    const message = humanMessage("1", { content: [{ type: "text", text: "at seven" }], sentAt: "" }, false);
    const thread: BaseMessage[] = [new HumanMessage("before"), new AIMessage("hello"), message];
    for (let step = 0; step < 20; step += 1) {
      if (step === 3) thread.push(correctionMessage(SEVEN));
      thread.push(new AIMessage(`step ${step}`));
    }
    const kept = newest(thread, { messages: 5, characters: 10_000 });
    expect(kept.map(({ text }) => text)).toEqual(["at seven", SEVEN.text, "step 17", "step 18", "step 19"]);
  });
});
