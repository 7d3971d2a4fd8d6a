import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { schedules } from "../../src/cli/schedules.ts";
import { chatOf } from "../../src/store/chats.ts";
import { insertSchedule, takeUpSchedules } from "../../src/store/schedules.ts";
import { openSqlite } from "../../src/store/sqlite.ts";

const NOON = Date.parse("2026-01-01T12:00:00Z");

async function setUp(): Promise<{
  readonly folder: string;
  readonly shown: () => Promise<readonly string[]>;
}> {
  const folder = await mkdtemp(join(tmpdir(), "perch-schedules-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "config/agents"), { recursive: true });
  await mkdir(join(folder, "data"), { recursive: true });
  await writeFile(join(folder, "config/perch.yaml"), "channels: { web: { kind: web } }\n");
  await writeFile(join(folder, "config/agents/helper.md"), "---\nmodel: demo\n---\nYou help.\n");
  return {
    folder,
    async shown() {
      const lines: string[] = [];
      const print = (line: string): void => void lines.push(line);
      expect(await schedules({ folder, env: {}, print })).toBe(0);
      return lines;
    },
  };
}

it("perch schedules tells what is due next and what came of the last time, and no word of a prompt", async () => {
  const { folder, shown } = await setUp();
  expect(await shown()).toEqual(["Nothing is scheduled."]);
  const database = await openSqlite(join(folder, "data/perch.db"));
  const chat = await chatOf(database.db, "web", { chat: "c1", kind: "private" });
  const rule = {
    channel: "web",
    chat: "c9",
    when: { kind: "cron", cron: "0 8 * * *" },
    timeZone: "Europe/Berlin",
    prompt: "marmalade",
  } as const;
  await takeUpSchedules(database, new Map([["morning", rule]]), { next: () => NOON, now: NOON });
  const origin = { chat, to: { channel: "web", chat: "c1" }, agent: "helper", person: "ada" };
  const made = { name: "marmalade", prompt: "marmalade", timeZone: "UTC", dueAt: NOON } as const;
  await insertSchedule(
    database,
    origin,
    { ...made, when: { kind: "every", everyMs: 5_400_000 } },
    { most: 9, now: NOON },
  );
  await database.close();
  expect(await shown()).toEqual([
    "1 morning in web: cron 0 8 * * *, next Thu 2026-01-01 13:00 (Europe/Berlin); last: not yet",
    "2 made by the agent in web chat 1: every 90 min, next Thu 2026-01-01 12:00 (UTC); last: not yet",
  ]);
});
