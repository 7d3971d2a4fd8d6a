import { readdir } from "node:fs/promises";
import { afterEach, describe, expect, it } from "vitest";
import { AIMessage } from "@langchain/core/messages";
import { readHistory } from "../../../src/agent/window/history.ts";
import type { ModelUse } from "../../../src/core/usage.ts";
import type { Reply } from "../../support/models/server.ts";
import { closeServers, type WireName } from "../model-servers.ts";
import { turn } from "../set-up.ts";
import { talking, type Talking } from "./thread-server.ts";

afterEach(closeServers);

const CALLS = 24;
const PAGE = "a line of a page\n".repeat(110);
const LIMITS = { turnSeconds: 60, messages: 400, characters: 1_000_000, mediaTurns: 2, contextTokens: 9_000 };
const SUMMARY = "Pages were written, one after the other.";

/** Writes a page after the other, each with other words, and says something at the end; sums up where it is asked to. */
function writing(): Reply {
  let written = 0;
  return ({ body }) => {
    if (JSON.stringify(body).includes("You keep the record of a conversation")) return SUMMARY;
    written += 1;
    if (written > CALLS) return "All pages are written.";
    const args = { file_path: `/workspace/page-${written}.txt`, content: `Page ${written}\n${PAGE}` };
    return { toolCalls: [{ name: "write_file", args, id: `call_${written}` }] };
  };
}

async function setUp(wire: WireName): Promise<Talking> {
  const world = await talking({ files: true, limits: LIMITS }, wire);
  world.server.reply(...Array<Reply>(100).fill(writing()));
  return world;
}

describe.each(["openai", "responses", "anthropic", "google", "ollama"] as const)(
  "one long turn over %s",
  (wire) => {
    it("stays within the window, knows what it was asked, and has all of it in its history", async () => {
      const world = await setUp(wire);
      const uses: ModelUse[] = [];
      const answer = await world.runner.run(
        {
          ...turn(world.agent, "intent-1", "Write all pages of the bird book"),
          folder: world.folder,
          onUse: (use) => uses.push(use),
        },
        new AbortController().signal,
      );
      expect(answer.markdown).toBe("All pages are written.");
      const bodies = world.server.requests.map(({ body }) => JSON.stringify(body));
      const asked = bodies.filter((body) => !body.includes("You keep the record of a conversation"));
      expect(bodies.length).toBeGreaterThan(asked.length);
      for (const body of asked) expect(body).toContain("Write all pages of the bird book");
      expect(Math.max(...asked.map((body) => body.length / 4))).toBeLessThan(LIMITS.contextTokens);
      expect(asked.at(-1)).toContain(SUMMARY);
      expect(uses).toHaveLength(bodies.length);
      const { messages } = await world.kept();
      const told = await readHistory(world.folder, "7/helper/1", "");
      const texts = [
        ...told.map(({ text }) => text),
        ...messages.map((message) =>
          AIMessage.isInstance(message) ? JSON.stringify(message.tool_calls) : message.text,
        ),
      ].join("\n");
      for (let n = 1; n <= CALLS; n += 1) expect(texts).toContain(`page-${n}.txt`);
      expect(messages.length).toBeLessThan(CALLS * 1.5); // of twice as many
      expect(answer.window).toMatchObject({ messages: messages.length, window: LIMITS.contextTokens });
      expect(await world.tell(2, "Thank you")).toMatchObject({ markdown: "All pages are written." });
    });
  },
);

it("is made shorter in work without a thread too, and nothing of that is kept in the chat", async () => {
  const world = await setUp("openai");
  const { agent, folder, runner } = world;
  const said = await runner.work(
    { agent, folder, prompt: "Write all pages", id: "t1" },
    new AbortController().signal,
  );
  expect(said).toBe("All pages are written.");
  expect(JSON.stringify(world.server.requests.at(-1)?.body)).toContain(SUMMARY);
  expect(await readdir(folder)).not.toContain("history");
});
