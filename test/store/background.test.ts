import { expect, it } from "vitest";
import type { ChatId } from "../../src/core/identity.ts";
import {
  claimTask,
  endTask,
  giveTaskBack,
  isNewest,
  type OpenTask,
  openTasks,
  retryTask,
  type TaskClaim,
  tellTask,
} from "../../src/store/background-runs.ts";
import { changeTask, findTask, insertTask, tasksOf } from "../../src/store/background.ts";
import { chatOf } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { moveChat } from "../../src/store/moves.ts";
import { pauseByCommand } from "../../src/store/pauses.ts";
import { renameChannel } from "../../src/store/rename.ts";
import { prune, recover } from "../../src/store/upkeep.ts";
import { eachDatabase } from "../support/database.ts";

const NOW = 1_700_000_000_000;
const WORDS = { kind: "text", rendered: { text: "done", marks: [] } } as const;
const TELL = { hold: undefined, now: NOW };
const DONE = { status: "success", result: "nine ships", error: "" } as const;

eachDatabase("background tasks", (open) => {
  async function setUp(): Promise<{
    readonly database: Database;
    readonly chat: ChatId;
    /** Gives its row; 0 where it is refused. */
    readonly begin: (prompt?: string, chat?: ChatId) => Promise<number>;
    readonly claim: (row: number, now?: number) => Promise<TaskClaim>;
    readonly run: (row: number, now?: number) => Promise<OpenTask>;
  }> {
    const database = await open();
    const chat = await chatOf(database.db, "toy", { chat: "c1", kind: "private" });
    const claim = (row: number, now = NOW): Promise<TaskClaim> =>
      claimTask(database, row, {
        owner: "test",
        now,
        until: now + 60_000,
        isOpen: (id) => id === "toy",
        givenUp: "given up",
      });
    return {
      database,
      chat,
      claim,
      begin: async (prompt = "Count the ships.", of = chat) => {
        const origin = {
          chat: of,
          to: { channel: "toy", chat: "c1" },
          agent: "helper",
          thread: `${of}/helper/1`,
          language: "en",
          person: "ada",
          byOwner: false,
        } as const;
        return (await insertTask(database, origin, { agent: "scout", prompt }, NOW))?.row ?? 0;
      },
      run: async (row, now) => {
        const claimed = await claim(row, now);
        if (claimed.kind !== "run") throw new Error(`it is ${claimed.kind}`);
        return claimed.open;
      },
    };
  }

  const planned = async ({ db }: Database): Promise<readonly unknown[]> =>
    await db.selectFrom("piece").select(["chat_id", "channel", "to_chat", "body"]).orderBy("id").execute();

  it("are not told of while the agent keeps still in their chat", async () => {
    const { database, chat, begin, claim, run } = await setUp();
    const row = await begin();
    await endTask(database, await run(row), DONE, NOW);
    const told = await claim(row);
    if (told.kind !== "tell") throw new Error(`it is ${told.kind}`);
    const until = NOW + 60_000;
    await database.db.transaction().execute((trx) => pauseByCommand(trx, chat, { until, why: "", now: NOW }));
    expect(await claim(row)).toEqual({ kind: "after turn", chat, at: until });
    expect(await tellTask(database, told.open, [WORDS], TELL)).toEqual({ chat, held: NOW });
    expect(await planned(database)).toEqual([]);
    expect(await claim(row, until)).toMatchObject({ kind: "tell" });
  });

  it("count their names in their chat, also where many are begun at once", async () => {
    const { database, chat, begin } = await setUp();
    const other = await chatOf(database.db, "toy", { chat: "c2", kind: "private" });
    await Promise.all([begin("a"), begin("b"), begin("c"), begin("d", other)]);
    expect((await tasksOf(database, chat)).map(({ id }) => id)).toEqual(["t1", "t2", "t3"]);
    expect(await tasksOf(database, other)).toEqual([
      {
        id: "t1",
        agent: "scout",
        prompt: "d",
        status: "pending",
        attempts: 0,
        result: "",
        startedAt: NOW,
        endedAt: 0,
      },
    ]);
  });

  it("are not found, changed or ended from another chat", async () => {
    const { database, chat, begin } = await setUp();
    await begin();
    const other = await chatOf(database.db, "toy", { chat: "c2", kind: "private" });
    expect(await findTask(database, other, "t1")).toBeUndefined();
    expect(await changeTask(database, other, "t1", { cancelledAt: NOW })).toBeUndefined();
    expect(await changeTask(database, other, "t1", { addition: "x" })).toBeUndefined();
    expect((await findTask(database, chat, "t1"))?.status).toBe("pending");
  });

  it.each(["", "t", "t0", "1", "t1; drop table", "t99999999999999999999"])(
    "have no other names: %j is none",
    async (id) => {
      const { database, chat, begin } = await setUp();
      await begin();
      expect(await findTask(database, chat, id)).toBeUndefined();
    },
  );

  it("are ten at most that have not ended in one chat", async () => {
    const { database, chat, begin } = await setUp();
    for (let n = 0; n < 10; n += 1) await begin();
    expect(await begin()).toBe(0);
    await changeTask(database, chat, "t4", { cancelledAt: NOW });
    await begin();
    expect(await tasksOf(database, chat)).toHaveLength(11);
  });

  it("go from pending over running to success, and are told once", async () => {
    const { database, chat, begin, claim, run } = await setUp();
    const row = await begin();
    expect(await openTasks(database)).toEqual([{ row, at: 0 }]);
    const running = await run(row);
    expect(running.task).toMatchObject({ status: "running", attempts: 1 });
    expect(await openTasks(database)).toEqual([{ row, at: NOW + 60_000 }]);
    expect(await endTask(database, running, DONE, NOW + 5)).toBe(true);
    expect(await endTask(database, running, DONE, NOW + 6)).toBe(false);
    expect(await openTasks(database)).toEqual([{ row, at: 0 }]);
    const told = await claim(row);
    if (told.kind !== "tell") throw new Error(told.kind);
    expect(told.open.task).toMatchObject({ status: "success", result: "nine ships", endedAt: NOW + 5 });
    expect(await tellTask(database, told.open, [WORDS], TELL)).toEqual({ chat });
    expect(await tellTask(database, told.open, [WORDS], TELL)).toBeUndefined();
    expect(await claim(row)).toEqual({ kind: "idle" });
    expect(await openTasks(database)).toEqual([]);
    expect(await planned(database)).toHaveLength(1);
  });

  it("wait with what is to be told for a turn of their chat that is running", async () => {
    const { database, chat, begin, claim, run } = await setUp();
    const row = await begin();
    await endTask(database, await run(row), DONE, NOW);
    const held = { owner: "somebody", until: NOW + 60_000 };
    await database.db.updateTable("chat").set(held).where("id", "=", chat).execute();
    expect(await claim(row)).toEqual({ kind: "after turn", chat, at: NOW + 60_000 });
    expect((await claim(row, NOW + 60_000)).kind).toBe("tell");
  });

  it("do not take what an earlier run of them comes to", async () => {
    const { database, chat, begin, run } = await setUp();
    const row = await begin();
    const first = await run(row);
    await changeTask(database, chat, "t1", { addition: "And the boats." });
    const second = await run(row);
    expect(second.task).toMatchObject({ prompt: "Count the ships.\n\nAnd the boats.", attempts: 1 });
    expect(await endTask(database, first, DONE, NOW)).toBe(false);
    expect(await retryTask(database, first, NOW)).toBe(false);
    expect(await giveTaskBack(database, first)).toBe(false);
    expect((await findTask(database, chat, "t1"))?.status).toBe("running");
  });

  it("whose run was claimed and then cancelled, added to or forgotten are not the newest run any more", async () => {
    const { database, chat, begin, run } = await setUp();
    const change = [
      async () => void (await changeTask(database, chat, "t1", { cancelledAt: NOW })),
      async () => void (await changeTask(database, chat, "t2", { addition: "x" })),
      async () => void (await database.db.deleteFrom("background_task").execute()),
    ];
    for (const changed of change) {
      const claimed = await run(await begin());
      expect(await isNewest(database, claimed)).toBe(true);
      await changed();
      expect(await isNewest(database, claimed)).toBe(false);
    }
  });

  it("that have ended never go back", async () => {
    const { database, chat, begin, claim, run } = await setUp();
    const row = await begin();
    const running = await run(row);
    expect((await changeTask(database, chat, "t1", { cancelledAt: NOW }))?.task.status).toBe("cancelled");
    expect(await endTask(database, running, DONE, NOW)).toBe(false);
    expect(await changeTask(database, chat, "t1", { addition: "x" })).toBeUndefined();
    expect(await changeTask(database, chat, "t1", { cancelledAt: NOW })).toBeUndefined();
    expect(await claim(row)).toEqual({ kind: "idle" });
    expect((await findTask(database, chat, "t1"))?.status).toBe("cancelled");
  });

  it("that failed wait for their time, and their failures are counted apart from crashes", async () => {
    const { database, begin, claim, run } = await setUp();
    const row = await begin();
    const first = await run(row);
    expect(first.failures).toBe(0);
    await retryTask(database, first, NOW + 30_000);
    expect(await openTasks(database)).toEqual([{ row, at: NOW + 30_000 }]);
    expect(await claim(row)).toEqual({ kind: "wait", at: NOW + 30_000 });
    const second = await run(row, NOW + 30_000);
    expect(second).toMatchObject({ failures: 1, task: { attempts: 2 } });
    await recover(database, NOW);
    expect(await run(row, NOW + 30_000)).toMatchObject({ failures: 1, task: { attempts: 3 } });
  });

  it("are as if they had not been begun where a stop gives them back", async () => {
    const { database, begin, run } = await setUp();
    const row = await begin();
    for (let n = 0; n < 5; n += 1) await giveTaskBack(database, await run(row));
    expect((await run(row)).task.attempts).toBe(1);
  });

  it("are begun again after a crash, and given up after three", async () => {
    const { database, chat, begin, claim, run } = await setUp();
    const row = await begin();
    for (let attempts = 1; attempts <= 3; attempts += 1) {
      expect((await run(row)).task.attempts).toBe(attempts);
      await recover(database, NOW);
      expect(await openTasks(database)).toEqual([{ row, at: 0 }]);
    }
    expect(await claim(row)).toMatchObject({ kind: "tell", open: { error: "crashed" } });
    expect(await findTask(database, chat, "t1")).toMatchObject({ status: "error", result: "given up" });
  });

  it("are taken up again where their own worker was left behind", async () => {
    const { begin, run } = await setUp();
    const row = await begin();
    await run(row);
    expect((await run(row)).task.attempts).toBe(2);
  });

  it("wait for their connection", async () => {
    const { database, begin, claim } = await setUp();
    const row = await begin();
    await renameChannel(database, "toy", "other");
    expect(await claim(row)).toEqual({ kind: "idle" });
    await renameChannel(database, "other", "toy");
    expect((await claim(row)).kind).toBe("run");
  });

  it("move with their chat, and are told at its new address", async () => {
    const { database, begin, claim, run } = await setUp();
    const into = await chatOf(database.db, "toy", { chat: "c0", kind: "group" });
    await begin("mine", into);
    const row = await begin();
    await endTask(database, await run(row), DONE, NOW);
    await database.db
      .transaction()
      .execute(async (trx) => await moveChat(trx, { channel: "toy", from: "c0", to: "c1", now: NOW }));
    expect((await tasksOf(database, into)).map(({ id, prompt }) => [id, prompt])).toEqual([
      ["t1", "mine"],
      ["t2", "Count the ships."],
    ]);
    const told = await claim(row);
    if (told.kind !== "tell") throw new Error(told.kind);
    expect(await tellTask(database, told.open, [WORDS], TELL)).toEqual({ chat: into });
    expect(await planned(database)).toMatchObject([{ chat_id: into, to_chat: "c1" }]);
  });

  it("are forgotten long after their end, and no later one has the name of one before", async () => {
    const { database, chat, begin, claim, run } = await setUp();
    const rows = [await begin(), await begin()];
    for (const row of rows) await endTask(database, await run(row), DONE, NOW);
    expect(await prune(database, NOW + 1)).toBe(0); // nobody has been told yet
    for (const row of rows) {
      const told = await claim(row);
      if (told.kind === "tell") await tellTask(database, told.open, [], TELL);
    }
    await prune(database, NOW);
    expect(await tasksOf(database, chat)).toHaveLength(2);
    await prune(database, NOW + 1);
    expect(await tasksOf(database, chat)).toEqual([]);
    expect(await findTask(database, chat, "t2")).toBeUndefined();
    const left = await database.db.selectFrom("background_task").select(["n", "prompt", "result"]).execute();
    expect(left).toEqual([{ n: 2, prompt: "", result: "" }]);
    await begin();
    expect((await tasksOf(database, chat)).map(({ id }) => id)).toEqual(["t3"]);
  });

  it("are gone with their chat, and a run that ends then writes nothing", async () => {
    const { database, chat, begin, run } = await setUp();
    const running = await run(await begin());
    await begin();
    await database.db.deleteFrom("background_task").where("chat_id", "=", chat).execute();
    expect(await endTask(database, running, DONE, NOW)).toBe(false);
    expect(await tellTask(database, running, [WORDS], TELL)).toBeUndefined();
    expect(await planned(database)).toEqual([]);
  });
});
