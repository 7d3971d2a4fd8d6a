import * as vitest from "vitest";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { ThreadSaver } from "../../src/agent/threads.ts";
import { threadStore } from "../../src/store/threads.ts";
import { onPostgres, onSqlite, type OpenDatabase } from "../support/database.ts";

const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } = vitest;
// The suite reads them as globals.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });

function initializer(name: string, open: OpenDatabase) {
  const open_ = new Map<ThreadSaver, () => Promise<void>>();
  return {
    checkpointerName: name,
    async createCheckpointer() {
      const database = await open();
      const blobs = new Map<string, Uint8Array>();
      const saver = new ThreadSaver({ store: threadStore(database), keep: "all", mediaTurns: 3, blobs: {} as never });
      open_.set(saver, database.close);
      return saver;
    },
    destroyCheckpointer: async (saver: ThreadSaver) => open_.get(saver)?.(),
  };
}
describe("sqlite", () => { const i = initializer("s", onSqlite()); validate(i); deltaChannelHistoryTests(i); });
describe("pg", () => { const i = initializer("p", onPostgres()); validate(i); deltaChannelHistoryTests(i); });
