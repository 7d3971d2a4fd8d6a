import { describe, expect, it } from "vitest";
import { latestIntent } from "../../src/store/inbox.ts";
import { claimTurn } from "../../src/store/turns.ts";
import { onSqlite } from "../support/database.ts";
import { takingIn } from "./set-up.ts";

const open = onSqlite();

async function setUp() {
  const taking = takingIn(await open());
  const { database, clock } = taking;
  return {
    ...taking,
    rows: async () =>
      await database.db
        .selectFrom("inbox")
        .select(["id", "chat_id", "task", "state", "intent", "thread", "payload"])
        .orderBy("id")
        .execute(),
    claim: async () => {
      const chat = (await database.db.selectFrom("chat").select("id").executeTakeFirstOrThrow()).id;
      const now = clock.now();
      return await claimTurn(database, chat, { owner: "me", now, until: now + 60_000, isOpen: () => true });
    },
  };
}

describe("/compact", () => {
  it("is committed as a task of the current thread, wakes the chat's lane and says nothing yet", async () => {
    const { say, rows, effects, planned, claim } = await setUp();
    await say("ada", "/compact");
    const [row] = await rows();
    expect(row).toMatchObject({
      task: "compact",
      state: "waiting",
      intent: row?.id,
      thread: `${row?.chat_id}/helper/1`,
    });
    expect(effects).toEqual([`turn ${row?.chat_id}`]);
    expect(await planned()).toEqual([]);
    expect(await claim()).toMatchObject({ kind: "turn", turn: { task: "compact", asides: [] } });
  });

  it("is of the thread that is current when it is said, and comes after what was said before", async () => {
    const { say, rows, claim } = await setUp();
    await say("ada", "hello");
    await say("ada", "/compact");
    await say("ada", "/new");
    const [first, task] = await rows();
    expect(task?.thread).toBe(first?.thread);
    const claimed = await claim();
    expect(claimed).toMatchObject({ kind: "turn", turn: { intent: first?.id } });
    expect(claimed).not.toHaveProperty("turn.task");
  });

  it("is joined by nothing that is said after it", async () => {
    const { say, rows, database } = await setUp();
    await say("ada", "/compact");
    const [row] = await rows();
    const of = { chat: row!.chat_id, sender: "ada", agent: "helper", thread: row!.thread, album: "" }; // there is one
    expect(await latestIntent(database.db, of)).toBeUndefined();
    await say("ada", "hello");
    expect(await latestIntent(database.db, of)).toMatchObject({ intent: (await rows())[1]?.id });
  });

  it("is taken back by /stop while it waits", async () => {
    const { say, rows } = await setUp();
    await say("ada", "/compact");
    await say("ada", "/stop");
    expect((await rows())[0]).toMatchObject({ state: "withdrawn", payload: "" });
  });

  it("comes once, however often it is delivered", async () => {
    const { say, rows } = await setUp();
    await say("ada", "/compact", { id: "same", ref: "same" });
    await say("ada", "/compact", { id: "same", ref: "same" });
    expect(await rows()).toHaveLength(1);
  });
});
