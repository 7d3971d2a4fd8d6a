import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import { scaledClock, systemClock } from "../../src/core/clock.ts";
import { realAgents } from "../support/agents.ts";
import { memoryLog, type LoggedLine } from "../support/channel-host.ts";
import { AGENT, testGateway } from "../support/gateway.ts";
import { listOf, type Reply, textOf as partsText } from "../support/models/server.ts";
import { startOpenAi } from "../support/models/openai.ts";

const CHATS = process.env["PERCH_LONG"] ? 50 : 12;
const ROUNDS = 4;
/** Of two digits each, so that no code is a part of another. */
const CODE = /ZEBRA-\d{4}-KITE/g;
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function codeOf(chat: number): string {
  return `ZEBRA-${String(chat).padStart(4, "0")}-KITE`;
}

function codesIn(text: string): ReadonlySet<string> {
  return new Set(text.match(CODE));
}

/**
 * Repeats every code that it was shown, whatever it is asked: in answers, summaries, facts, files and to subagents. So a code
 * that reaches a request of another chat once is seen there in all that follows.
 */
const parrot: Reply = ({ body }) => {
  const seen = [...codesIn(JSON.stringify(body))].join(" and ");
  const messages = listOf(body["messages"]);
  const tools = listOf(body["tools"]).map((tool) => JSON.stringify(tool));
  const last = messages.at(-1);
  if (JSON.stringify(body).includes('{\\"facts\\"')) {
    const facts = [{ content: `Their code is ${seen}`, confidence: 0.9, saidAt: 1, replaces: [] }];
    return JSON.stringify({ facts });
  }
  if (last?.["role"] !== "user" || tools.length === 0) return `I know of ${seen}.`;
  const asked = partsText(last["content"]);
  if (asked.includes("note"))
    return {
      toolCalls: [
        { name: "write_file", args: { file_path: "/workspace/note.txt", content: `the code: ${seen}` } },
      ],
    };
  if (asked.includes("ask around"))
    return { toolCalls: [{ name: "task", args: { subagent: "friend", prompt: `What of ${seen}?` } }] };
  return `I know of ${seen}.`;
};

it(`keeps the secrets of ${CHATS} chats at once apart, in requests, files, memory, threads and the log`, async () => {
  const model = await startOpenAi({ otherwise: parrot });
  cleanups.push(() => model.close());
  const logged: LoggedLine[] = [];
  const clock = scaledClock(20, systemClock.now());
  const choice = { provider: "openai", name: "test", baseUrl: model.url, apiKey: "none" };
  const friend: AgentDefinition = { ...AGENT, name: "friend", prompt: "You know things.", model: choice };
  const agent: AgentDefinition = {
    ...AGENT,
    model: choice,
    prompt: "You help.",
    files: true,
    subagents: { agents: [friend], atOnce: 3, mostPerTurn: 6, seconds: 60 },
    memory: { files: [], facts: true, quietSeconds: 5, mostSeconds: 20, mostFacts: 20 },
    limits: { ...AGENT.limits, contextTokens: 4_000 },
  };
  const people = Array.from({ length: CHATS }, (_, at) => `p${at}`);
  const gateway = await testGateway({
    clock,
    agents: [agent],
    rules: { allow: people },
    runner: realAgents({ clock, log: memoryLog(logged) }),
  });
  cleanups.push(gateway.close);
  const { platform, database, folder } = gateway;

  const filler = "It is a long story, and it goes on for a while. ".repeat(60);
  const asks = ["my code is", "write a note with my code", "ask around for my code", "what is my code,"];
  let due = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const ask of asks) {
      await Promise.all(
        people.map((person, at) =>
          platform.say(`c${at}`, `${ask} ${codeOf(at)}? ${filler}`, {
            from: { id: person, name: `Person ${at}` },
            sentAt: new Date(clock.now()).toISOString(),
          }),
        ),
      );
      due += CHATS;
      await platform.until((shown) => shown.length >= due);
    }
  }
  // Everything that was said is distilled once it is quiet.
  const remembered = async () => database.db.selectFrom("memory_fact").selectAll().execute();
  while (new Set((await remembered()).map(({ subject }) => subject)).size < CHATS)
    await new Promise((resolve) => clock.after(2_000, () => resolve(undefined)));

  const asked = model.requests.map(({ body }) => JSON.stringify(body));
  expect(asked.filter((body) => body.includes("You know things.")).length).toBeGreaterThanOrEqual(CHATS);
  for (const { body } of model.requests) expect(codesIn(JSON.stringify(body)).size).toBeLessThanOrEqual(1);
  for (const { chat, text } of platform.shown)
    expect([...codesIn(text)]).toEqual([codeOf(Number(chat.slice(1)))]);
  for (const fact of await remembered())
    expect([...codesIn(fact.content)]).toEqual([codeOf(Number(fact.subject.slice(1)))]);

  const addresses = await database.db.selectFrom("address").selectAll().execute();
  let summed = 0;
  for (const { chat, chat_id: id } of addresses) {
    const own = codeOf(Number(chat.slice(1)));
    const files = await textsUnder(join(folder, "chats", String(id)));
    expect(files.some(({ path }) => path.endsWith("note.txt"))).toBe(true);
    summed += files.filter(({ path }) => path.includes("history")).length > 0 ? 1 : 0;
    for (const { path, text } of files) expect([path, ...codesIn(text)]).toEqual([path, own]);
  }
  expect(summed).toBe(CHATS);
  const bodies = await database.db.selectFrom("thread_message").select(["thread", "body"]).execute();
  for (const { thread, body } of bodies) {
    const chat = addresses.find(({ chat_id: id }) => thread.startsWith(`${id}/`))?.chat ?? "";
    const codes = codesIn(Buffer.from(body).toString("utf8"));
    codes.forEach((code) => expect(code).toBe(codeOf(Number(chat.slice(1)))));
  }
  expect(JSON.stringify([logged, gateway.logged])).not.toMatch(CODE);
}, 300_000);

async function textsUnder(folder: string): Promise<readonly { path: string; text: string }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        return { path, text: await readFile(path, "utf8") };
      }),
  );
}
