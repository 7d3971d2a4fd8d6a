import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { afterAll, expect } from "vitest";
import type { AgentDefinition, AgentTurn, Blobs } from "../../src/core/agent.ts";
import type { BlobRef, ContentBlock } from "../../src/core/blocks.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { ChatId, Hold } from "../../src/core/identity.ts";
import type { Database } from "../../src/store/database.ts";
import { type AgentHouse, createAgentRunner } from "../../src/agent/runner.ts";
import { memoryLog } from "../support/channel-host.ts";

/** Blobs that last as long as the test. */
export function memoryBlobs(): Blobs {
  const held = new Map<BlobRef, Uint8Array>();
  return {
    async put(bytes) {
      const ref: BlobRef = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
      held.set(ref, bytes);
      return ref;
    },
    async read(ref) {
      const bytes = held.get(ref);
      if (bytes === undefined) throw new GatewayError("blob.missing", `no blob ${ref}`);
      return bytes;
    },
  };
}

export function definition(fields: Partial<AgentDefinition> = {}): AgentDefinition {
  return {
    name: "helper",
    prompt: "You help.",
    model: { provider: "demo", name: "demo" },
    files: false,
    limits: { turnSeconds: 60, messages: 40, characters: 20_000, mediaTurns: 2 },
    ...fields,
  };
}

export function turn(agent: AgentDefinition, id: string, said: string | readonly ContentBlock[]): AgentTurn {
  return {
    hold: HOLD,
    thread: "7/helper/1",
    agent,
    messageId: id,
    content: typeof said === "string" ? [{ type: "text", text: said }] : said,
    sentAt: "2026-03-01T12:00:00Z",
    folder: folderOfTest(),
  };
}

/** Of a chat of the test's own. */
const HOLD: Hold = { chat: 7 as ChatId, owner: "test", epoch: 1 };

/** Makes the chat of `turn` on a real database, held for as long as the test lasts. */
export async function holdChat(database: Database): Promise<Hold> {
  const { chat, ...held } = HOLD;
  await database.db
    .insertInto("chat")
    .values({ id: chat as never, channel: "toy", kind: "private", ...held, until: 1e15 }) // else given by the database
    .execute();
  return HOLD;
}

const folders = new Map<string, string>();

afterAll(() => {
  for (const folder of folders.values()) rmSync(folder, { recursive: true, force: true });
  folders.clear();
});

/** A chat's folder that no other test knows: what leaves a thread is written there. */
export function folderOfTest(): string {
  const test = expect.getState().currentTestName ?? "";
  const folder = folders.get(test) ?? mkdtempSync(join(tmpdir(), "perch-chat-"));
  folders.set(test, folder);
  return folder;
}

export type Bench = {
  readonly runner: AgentHouse;
  readonly saver: MemorySaver;
  readonly blobs: Blobs;
  readonly say: (
    agent: AgentDefinition,
    id: string,
    said: string | readonly ContentBlock[],
  ) => Promise<string>;
};

/** A runner with a saver and blobs in memory; `say` runs one turn to its end and gives the answer. */
export function bench(clock: Clock = systemClock): Bench {
  const saver = new MemorySaver();
  const blobs = memoryBlobs();
  const runner = createAgentRunner({
    saver: async () => saver,
    blobs,
    clock,
    log: memoryLog([]),
  });
  return {
    runner,
    saver,
    blobs,
    say: async (agent, id, said) =>
      (await runner.run(turn(agent, id, said), new AbortController().signal)).markdown,
  };
}

/** Time that stands still, and in which every wait is over at once. */
export const hurried: Clock = {
  now: () => 1_700_000_000_000,
  after(_ms, call) {
    const timer = setImmediate(call);
    return { cancel: () => clearImmediate(timer) };
  },
};

/** What a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<GatewayError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
