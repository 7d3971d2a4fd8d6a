import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { clippedTail } from "../../../src/agent/window/overflow.ts";
import { closeServers, type WireName } from "../model-servers.ts";
import { say } from "../../../src/core/sentences.ts";
import { asksForSummary, summing, talking } from "./thread-server.ts";

afterEach(closeServers);

const calls = new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c", name: "look", args: {} }] });
const result = (content: string): ToolMessage =>
  new ToolMessage({ id: "t", name: "look", status: "success", content, tool_call_id: "c" });

describe("the last results where a model takes no more", () => {
  it("are cut to their beginning, with the file that all of it is in", () => {
    const text = `${"x".repeat(9_000)} All of it is in /workspace/results/look-1.txt: read it.`;
    const [cut] = clippedTail([new HumanMessage("?"), calls, result(text)]) ?? [];
    expect(cut).toMatchObject({ id: "t", name: "look", status: "success", tool_call_id: "c" });
    expect(cut?.text).toMatch(
      /^x{4000}\n\[… \d+ more characters .* all of it may be in \/workspace\/results\/look-1\.txt/,
    );
  });

  it.each([
    ["short results", [calls, result("x".repeat(4_000))]],
    ["results from before the last answer", [calls, result("x".repeat(9_000)), new AIMessage("Seen.")]],
    ["what was cut already", [calls, ...(clippedTail([calls, result("x".repeat(9_000))]) ?? [])]],
  ])("are left as they are: %s", (_what, messages) => {
    expect(clippedTail(messages)).toBeUndefined();
  });
});

/** What real providers say to a request that is too long. */
const WORDS: Readonly<Partial<Record<WireName, readonly [status: number, message: string]>>> = {
  openai: [
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
  ],
  anthropic: [400, "prompt is too long: 210000 tokens > 200000 maximum"],
  google: [400, "The input token count (2100000) exceeds the maximum number of tokens allowed (1048576)."],
};

describe.each(Object.entries(WORDS))("a request that is too long, over %s", (name, [status, message]) => {
  const wire = name as WireName; // a key of the table
  const fault = { fault: "status", status, message } as const;

  it("is made shorter and asked again, and the thread stays so", async () => {
    const world = await talking({}, wire);
    for (let n = 1; n <= 6; n += 1) await world.tell(n, `Question ${n}`);
    const asked = world.server.requests.length;
    world.server.reply(fault, "They asked six questions.", "Seven it is.");
    expect((await world.tell(7, "Question 7")).markdown).toBe("Seven it is.");
    expect(world.server.requests.length).toBe(asked + 3);
    expect((await world.kept()).summary?.text).toBe("They asked six questions.");
    expect(await world.history()).toContain("Question 1");
    expect((await world.tell(8, "Question 8")).markdown).toBe("seen");
  });

  it("that holds one message which alone is too much is answered, and the next message too", async () => {
    const world = await talking({}, wire);
    world.server.reply(fault, fault, fault);
    expect((await world.tell(1, "x".repeat(5_000))).markdown).toBe(say("turn.model_overflow"));
    world.server.reply("Fine.", "Fine.");
    expect((await world.tell(2, "Shorter")).markdown).toBe("Fine.");
  });
});

it("asks a model without a summary where it finds that too long as well", async () => {
  const world = await talking();
  const [status = 0, message = ""] = WORDS.openai ?? [];
  const fault = { fault: "status", status, message } as const;
  for (let n = 1; n <= 6; n += 1) await world.tell(n, `Question ${n}`);
  // A summary is tried with all, and with a third of that.
  world.server.reply(fault, summing(fault, "no"), summing(fault, "no"), "Short enough.");
  expect((await world.tell(7, "Question 7")).markdown).toBe("Short enough.");
  expect(world.server.requests.filter(({ body }) => asksForSummary(body))).toHaveLength(2);
  expect(JSON.stringify(world.server.requests.at(-1)?.body)).toContain("earlier messages are left out here");
  expect((await world.kept()).messages).toHaveLength(14);
});
