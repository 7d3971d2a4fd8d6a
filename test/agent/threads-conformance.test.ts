import { tmpdir } from "node:os";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ThreadSaver } from "../../src/agent/threads.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import type { Database } from "../../src/store/database.ts";
import { threadStore } from "../../src/store/threads.ts";
import { eachDatabase } from "../support/database.ts";

// LangGraph's own suite for checkpoint savers, in full. It takes vitest's functions from the global object.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });

const TABLES = [
  "thread_checkpoint",
  "thread_value",
  "thread_write",
  "thread_list",
  "thread_message",
] as const;

eachDatabase("ThreadSaver with all checkpoints kept", (open) => {
  let database: Database | undefined;
  const initializer = {
    checkpointerName: "ThreadSaver",
    async createCheckpointer() {
      database ??= await open();
      const blobs = new FileBlobs(tmpdir()); // nothing in the suite is long enough to go there
      return new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 2, keep: "all" });
    },
    // The suite uses one thread id several times and counts on an empty database.
    async destroyCheckpointer() {
      for (const table of TABLES) await database?.db.deleteFrom(table).execute();
    },
  };
  validate(initializer);
  deltaChannelHistoryTests(initializer);
});
