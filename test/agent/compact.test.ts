import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, SystemMessage, tool } from "langchain";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import type { BuiltAgent } from "../../src/agent/built.ts";
import { compactThread } from "../../src/agent/compact.ts";
import { harness } from "../../src/agent/harness/harness.ts";
import { loadModel } from "../../src/agent/models.ts";
import { runTurn } from "../../src/agent/run-turn.ts";
import { systemClock } from "../../src/core/clock.ts";
import { memoryLog } from "../support/channel-host.ts";
import { listOf } from "../support/models/server.ts";
import { closeServers, served } from "./model-servers.ts";
import { turn } from "./set-up.ts";
import { asksForSummary } from "./window/thread-server.ts";

let folder = "";
afterEach(async () => {
  await closeServers();
  await rm(folder, { recursive: true, force: true });
});

const never = new AbortController().signal;
const WINDOW = 2_000;

it("leaves a thread alone while a tool of it waits for an answer, which reaches that tool", async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-compact-"));
  const limits = {
    turnSeconds: 60,
    messages: 400,
    characters: 400_000,
    mediaTurns: 2,
    contextTokens: WINDOW,
  };
  const { server, blobs, agent } = await served("openai", { limits });
  server.reply(
    ...Array.from({ length: 60 }, () => ({ body }: { readonly body: Readonly<Record<string, unknown>> }) => {
      if (asksForSummary(body)) return "They spoke.";
      const last = listOf(body["messages"]).at(-1);
      if (last?.["role"] === "tool") return `It was told: ${String(last["content"])}`;
      return JSON.stringify(last).includes("ask me") ? { toolCalls: [{ name: "ask", args: {} }] } : "Yes.";
    }),
  );
  const ask = tool(() => String(interrupt("Which one?")), {
    name: "ask",
    description: "Asks.",
    schema: z.object({}),
  });
  const senses = { images: false, pdf: false, audio: false };
  const model = await loadModel(agent.model, blobs);
  const parts = { blobs, senses, files: false, clock: systemClock, log: memoryLog([]), tools: [ask] };
  const { graph } = createAgent({
    model,
    systemPrompt: new SystemMessage("You help."),
    middleware: [harness(agent, parts)],
    tools: [ask],
    checkpointer: new MemorySaver(),
  });
  const built: BuiltAgent = { graph, senses, files: false, room: { model, window: WINDOW } };
  const said = (id: string, text: string) => ({ ...turn(agent, id, text), folder });
  const run = async (id: string, text: string): Promise<string> =>
    (await runTurn(built, blobs, said(id, text), never)).markdown;
  const compact = (id: string) => compactThread(built, blobs, said(id, "/compact"), never);

  for (let n = 1; n <= 16; n += 1) await run(`i${n}`, `Question ${n} ${"word ".repeat(40)}`);
  expect(await run("i17", "ask me")).toBe("Which one?");
  expect(await compact("c1")).toMatchObject({ done: false, waits: true, now: { messages: 34 } });
  expect(await run("i18", "the second")).toBe("It was told: the second");
  expect(await compact("c2")).toMatchObject({ done: true });
});
