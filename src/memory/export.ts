import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { AgentAnswer, AgentDefinition, AgentDesk, Talk } from "../core/agent.ts";
import type { FactOwner } from "../core/memory.ts";
import { say } from "../core/sentences.ts";
import type { Database } from "../store/database.ts";
import { factsOf } from "../store/memory-facts.ts";
import { threadsIn } from "../store/thread-range.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { ownersOf } from "./owners.ts";

export type ExportParts = {
  readonly database: Database;
  readonly desk: Pick<AgentDesk, "talk">;
  readonly agent: (name: string) => AgentDefinition | undefined;
  /** Of the chat, absolute. */
  readonly folder: string;
  /** Epoch ms. */
  readonly now: number;
};

/** What is handed out, as JSON. */
type Exported = {
  readonly exportedAt: string;
  readonly threads: readonly {
    readonly thread: string;
    readonly agent: string;
    readonly messages: readonly Omit<Talk, "id">[];
  }[];
  readonly remembered: readonly {
    readonly agent: string;
    readonly facts: readonly { readonly number: number; readonly content: string; readonly saidAt: string }[];
  }[];
  /** Paths in the chat's folder. */
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
};

/** All that is kept of a chat, as an answer with a file: what was said, what is remembered of whoever asks, and which files there are. */
export async function exportChat(turn: ClaimedTurn, parts: ExportParts): Promise<AgentAnswer> {
  const { folder, now } = parts;
  const exportedAt = new Date(now).toISOString();
  const exported: Exported = {
    exportedAt,
    threads: await threadsOf(turn, parts),
    remembered: await rememberedOf(turn, parts),
    files: await filesIn(folder),
  };
  const outputs = join(folder, "outputs");
  await mkdir(outputs, { recursive: true, mode: 0o700 });
  const name = `export-${exportedAt.slice(0, "2026-01-31".length)}.json`;
  await writeFile(join(outputs, name), `${JSON.stringify(exported, undefined, 2)}\n`, { mode: 0o600 });
  return {
    markdown: `${say("export.done", turn.language)}\n\n![${name}](/outputs/${name})`,
    replayed: false,
    refused: [],
  };
}

async function threadsOf(
  { hold }: ClaimedTurn,
  { database, desk, agent: find, folder }: ExportParts,
): Promise<Exported["threads"]> {
  const threads: Exported["threads"][number][] = [];
  for (const thread of await threadsIn(database.db, hold.chat)) {
    const [, name = ""] = thread.split("/");
    const agent = find(name);
    // An agent that is no more has left what nobody can read.
    const talk = agent ? await desk.talk({ agent, thread, folder }) : [];
    threads.push({ thread, agent: name, messages: talk.map(({ id: _id, ...said }) => said) });
  }
  return threads;
}

async function rememberedOf(
  turn: ClaimedTurn,
  { database, agent: find }: ExportParts,
): Promise<Exported["remembered"]> {
  const [here] = ownersOf(turn);
  const names = new Set([turn.agent, ...(await threadsIn(database.db, turn.hold.chat)).map(agentIn)]);
  const remembered: Exported["remembered"][number][] = [];
  for (const name of names) {
    if (!here || !find(name)) continue;
    const owner: FactOwner = { ...here, agent: name };
    const facts = await factsOf(database.db, owner);
    remembered.push({
      agent: name,
      facts: facts.map(({ id, content, saidAt }) => ({ number: id, content, saidAt })),
    });
  }
  return remembered;
}

function agentIn(thread: string): string {
  return thread.split("/")[1] ?? "";
}

async function filesIn(folder: string): Promise<Exported["files"]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        const found = await stat(path).catch(() => undefined); // the agent may have removed it by now
        return found ? [{ path: `/${relative(folder, path)}`, bytes: found.size }] : [];
      }),
  );
  return files.flat().toSorted((one, other) => one.path.localeCompare(other.path));
}
