import { expect, it } from "vitest";
import { measured } from "../../src/cli/measured.ts";
import { manualClock } from "../support/clock.ts";
import { onSqlite } from "../support/database.ts";

const open = onSqlite();

it("tells what it knows by itself while the database is away", async () => {
  const database = await open();
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
