import { expect, it } from "vitest";
import { measured } from "../../src/cli/measured.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { manualClock } from "../support/clock.ts";

it("tells what it knows by itself while the database is away", async () => {
  const database = await openSqlite(":memory:");
  const { shown, close } = await measured(
    { telemetry: { metrics: true } },
    {
      database,
      clock: manualClock(),
      connections: () => [{ id: "family", kind: "telegram", pairs: false, is: "open", words: "open" }],
      running: () => 3,
    },
  );
  expect(await shown.metrics?.text()).toContain('perch_queue_depth{what="messages"} 0');
  await database.close();
  const text = await shown.metrics?.text();
  expect(text).toContain("perch_turns_running 3");
  expect(text).toContain('perch_channel_state{channel="family",is="open"} 1');
  expect(text).not.toContain("perch_queue_depth{");
  await close();
});
