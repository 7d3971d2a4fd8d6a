import { afterEach, describe, expect, it } from "vitest";
import type { AgentTurn } from "../../../src/core/agent.ts";
import { listOf, type Json } from "../../support/models/server.ts";
import { base64, medium } from "../media-blocks.ts";
import { closeServers, served, type Served, WIRES, type WireName } from "../model-servers.ts";
import { failure, turn } from "../set-up.ts";

afterEach(closeServers);

const FACTS = {
  kind: "telegram",
  chat: "private",
  people: ["Anna"],
  timeZone: "UTC",
  now: 1_764_500_000_000,
} as const;

const say = (told: Served, id: string, more: Partial<AgentTurn> = {}) =>
  told.runner.run(
    { ...turn(told.agent, id, `question ${id}`), local: FACTS, ...more },
    new AbortController().signal,
  );

const bodyOf = (told: Served, request = -1): Json => told.server.requests.at(request)?.body ?? {};

type Block = { readonly at: string; readonly block: Json };

/** All blocks of an Anthropic request in the order in which it is cached. */
function blocksOf(body: Json): readonly Block[] {
  const messages = listOf(body["messages"]).flatMap(({ role, content }) =>
    typeof content === "string"
      ? [{ at: String(role), block: { type: "text", text: content } }]
      : listOf(content).map((block) => ({ at: String(role), block })),
  );
  return [...listOf(body["system"]).map((block) => ({ at: "system", block })), ...messages];
}

/** Where marks are: the beginning of each marked block's text, or what it is. */
const marksIn = (body: Json): readonly string[] =>
  blocksOf(body)
    .filter(({ block }) => block["cache_control"] !== undefined)
    .map(({ at, block }) => `${at}: ${String(block["text"] ?? block["type"]).slice(0, 14)}`);

/** What stands up to the last mark that the newest question does not follow: as it is cached. */
function cached(body: Json, mark: string): string {
  const blocks = blocksOf(body);
  const end = blocks.findLastIndex(
    ({ at, block }) =>
      block["cache_control"] !== undefined && `${at}: ${String(block["text"])}`.startsWith(mark),
  );
  const bare = blocks
    .slice(0, end + 1)
    .map(({ at, block: { cache_control: _mark, ...block } }) => ({ at, block }));
  return JSON.stringify([body["tools"], bare]);
}

describe("where Anthropic may begin from its cache", () => {
  it("is behind the system prompt, and behind what stood before the newest question", async () => {
    const told = await served("anthropic", { prompt: "You help." });
    await say(told, "1");
    expect(marksIn(bodyOf(told))).toEqual(["system: You help.", "user: [where you are"]);
    await say(told, "2");
    expect(marksIn(bodyOf(told))).toEqual(["system: You help.", "assistant: seen"]);
  });

  it("is not behind what is remembered, so that it holds when that is another", async () => {
    const told = await served("anthropic", { prompt: "You help." });
    await say(told, "1", { recalled: "[remembered: tea]" });
    await say(told, "2", { recalled: "[remembered: coffee]" });
    await say(told, "3", { recalled: "[remembered: water]" });
    const [second, third] = [bodyOf(told, 1), bodyOf(told, 2)];
    expect(marksIn(third)).toEqual(["system: You help.", "assistant: seen"]);
    expect(JSON.stringify(third)).not.toContain("coffee");
    // All that the second request has had cached is how the third begins.
    const before = cached(second, "assistant: seen");
    expect(cached(third, "assistant: seen").startsWith(before.slice(0, -2))).toBe(true);
    expect(before).toContain("question 1");
  });

  it("is behind the newest calls too in a loop of tools, at a place that takes a mark", async () => {
    const told = await served("anthropic", { prompt: "You help.", choices: true });
    await say(told, "1");
    told.server.reply(
      { toolCalls: [{ name: "nothing", args: {} }] },
      { toolCalls: [{ name: "nothing", args: {} }] },
    );
    await say(told, "2", { recalled: "[remembered: tea]" });
    expect(marksIn(bodyOf(told))).toEqual(["system: You help.", "assistant: seen", "assistant: tool_use"]);
  });

  it("is behind media of the turn before", async () => {
    const told = await served("anthropic");
    const photo = await medium(told.blobs, { type: "image", mimeType: "image/jpeg" }, { bytes: "PHOTO" });
    await say(told, "0");
    // A question without an answer is the last before the next one.
    told.server.reply({ fault: "status", status: 401 });
    await failure(say(told, "1", { content: [photo] }));
    await say(told, "2");
    expect(JSON.stringify(bodyOf(told))).toContain(base64("PHOTO"));
    expect(marksIn(bodyOf(told))).toEqual(["user: image"]);
  });

  it("is nowhere in an empty request but for what it has", async () => {
    const told = await served("anthropic");
    await say(told, "1", { local: undefined } as unknown as Partial<AgentTurn>); // as of work without a chat
    expect(marksIn(bodyOf(told))).toEqual([]);
  });
});

describe("other providers", () => {
  it.each((Object.keys(WIRES) as readonly WireName[]).filter((wire) => wire !== "anthropic"))(
    "are told nothing of it, by the protocol of %s",
    async (wire) => {
      const told = await served(wire, { prompt: "You help." });
      await say(told, "1");
      await say(told, "2", { recalled: "[remembered: tea]" });
      expect(JSON.stringify(bodyOf(told))).not.toContain("cache_control");
      expect(JSON.stringify(bodyOf(told))).toContain("[remembered: tea]");
    },
  );
});
