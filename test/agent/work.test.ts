import { afterEach, expect, it } from "vitest";
import type { EffectLog, StoredEffect } from "../../src/core/effects.ts";
import type { Json } from "../support/models/server.ts";
import { closeServers, served } from "./model-servers.ts";
import { definition, folderOfTest } from "./set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;

it("goes on from what an earlier run of it has done outside, and does not do that again", async () => {
  const stored = new Map<string, StoredEffect>();
  const effects: EffectLog = {
    earlier: async () => [...stored.values()],
    begin: async (call, step) => void stored.set(call, { call, step }),
    done: async (call, result) => void stored.set(call, { ...stored.get(call)!, result }), // it was begun
  };
  const { agent, runner, server } = await served("openai");
  const scout = definition({ name: "scout", prompt: "You are scout.", model: agent.model });
  const boss = { ...agent, subagents: { agents: [scout], atOnce: 3, mostPerTurn: 6, seconds: 120 } };
  const task = { agent: boss, folder: folderOfTest(), effects } as const;
  server.reply(
    { toolCalls: [{ name: "task", args: { subagent: "scout", prompt: "Send it." }, id: "c1" }] },
    "It is sent.",
    { fault: "status", status: 401 },
  );
  await expect(runner.work({ ...task, prompt: "Do it.", id: "t1" }, never)).rejects.toThrow(/API key/);
  server.reply("All is done.");
  expect(await runner.work({ ...task, prompt: "Do it. Again.", id: "t2" }, never)).toBe("All is done.");
  const messages = server.requests.at(-1)?.body["messages"] as readonly Json[]; // as the protocol has it
  expect(messages.map(({ role }) => role).slice(-3)).toEqual(["user", "assistant", "tool"]);
  expect(messages.at(-1)?.["content"]).toContain("It is sent.");
});

it("reports in text that a database takes", async () => {
  const { agent, runner, server } = await served("openai");
  server.reply("Nine\u0000 ships\uD800.");
  const report = await runner.work({ agent, folder: folderOfTest(), prompt: "Count.", id: "t1" }, never);
  expect(report).toBe("Nine\uFFFD ships\uFFFD.");
});
