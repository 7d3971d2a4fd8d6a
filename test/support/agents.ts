import { type AgentHouse, createAgentRunner } from "../../src/agent/runner.ts";
import { ThreadSaver } from "../../src/agent/threads.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import type { Log } from "../../src/core/log.ts";
import type { FileBlobs } from "../../src/store/blobs.ts";
import type { Database } from "../../src/store/database.ts";
import { threadStore } from "../../src/store/threads.ts";
import { memoryLog } from "./channel-host.ts";

/** Real agents, with their threads on the gateway's database: a `runner` for `testGateway`. */
export function realAgents({
  clock = systemClock,
  log = memoryLog([]),
}: { readonly clock?: Clock; readonly log?: Log } = {}): (
  database: Database,
  blobs: FileBlobs,
) => AgentHouse {
  return (database, blobs) =>
    createAgentRunner({
      blobs,
      clock,
      log,
      saver: async ({ limits }) =>
        new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: limits.mediaTurns }),
    });
}
