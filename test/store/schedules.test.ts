import { expect, it } from "vitest";
import type { ScheduledEvent } from "../../src/core/events.ts";
import type { ChatId } from "../../src/core/identity.ts";
import type { ScheduleRule, When } from "../../src/core/schedules.ts";
import { chatOf } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { forgetChat } from "../../src/store/forget.ts";
import { moveChat } from "../../src/store/moves.ts";
import { renameChannel } from "../../src/store/rename.ts";
import {
  activeSchedule,
  type DueSchedule,
  type Fired,
  fireSchedule,
  leaveScheduleOut,
  metChat,
  openSchedules,
  putScheduleOff,
} from "../../src/store/schedule-runs.ts";
import {
  allSchedules,
  cancelSchedule,
  insertSchedule,
  schedulesIn,
  takeUpSchedules,
} from "../../src/store/schedules.ts";
import { giveUnaskedBack, takeUnasked } from "../../src/store/unasked.ts";
import { prune } from "../../src/store/upkeep.ts";
import { eachDatabase } from "../support/database.ts";

const NOW = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAILY: When = { kind: "cron", cron: "0 8 * * *" };

eachDatabase("schedules", (open) => {
  async function setUp(): Promise<{
    readonly database: Database;
    readonly chat: ChatId;
    /** Makes one that is due now; gives its number. */
    readonly make: (name?: string, when?: When, of?: ChatId) => Promise<number>;
    /** Does what is due of one; what it read before may be handed in. */
    readonly fire: (
      number: number,
      by?: {
        readonly next?: number | undefined;
        readonly perDay?: number;
        readonly now?: number;
        readonly row?: DueSchedule | undefined;
      },
    ) => Promise<Fired>;
    readonly said: () => Promise<
      readonly { readonly id: number; readonly key: string; readonly state: string }[]
    >;
  }> {
    const database = await open();
    const chat = await chatOf(database.db, "toy", { chat: "c1", kind: "private" });
    return {
      database,
      chat,
      make: async (name = "water", when = DAILY, of = chat) => {
        const origin = { chat: of, to: { channel: "toy", chat: "c1" }, agent: "helper", person: "ada" };
        const made = { name, when, timeZone: "UTC", prompt: "Water the plants.", dueAt: NOW };
        const found = await insertSchedule(database, origin, made, { most: 3, now: NOW - HOUR_MS });
        if ("refused" in found) throw new Error(found.refused);
        return found.schedule.number;
      },
      fire: async (number, by = {}) => {
        const row = by.row ?? (await activeSchedule(database, number));
        if (!row) throw new Error("it is over");
        return await fireSchedule(database, row, {
          channel: "toy",
          chat,
          agent: "helper",
          event: due(number, row.due_at),
          next: "next" in by ? by.next : row.due_at + DAY_MS,
          perDay: by.perDay ?? 20,
          laterAt: NOW + 2 * DAY_MS,
          now: by.now ?? NOW,
        });
      },
      said: async () =>
        await database.db
          .selectFrom("inbox")
          .select(["id", "event_key as key", "state"])
          .where("type", "=", "scheduled")
          .orderBy("id")
          .execute(),
    };
  }

  function due(number: number, at: number): ScheduledEvent {
    return {
      type: "scheduled",
      id: `schedule-${number}@${at}`,
      place: { chat: "c1", kind: "private" },
      from: { id: "", name: "" },
      sentAt: new Date(at).toISOString(),
      schedule: { number, name: "water", by: "agent" },
      prompt: "Water the plants.",
      timeZone: "UTC",
      missed: 0,
      day: "2023-11-14",
    };
  }

  it("are made with one name each, and no more than may be", async () => {
    const { database, chat, make } = await setUp();
    await make("a");
    await expect(make("a")).rejects.toThrow("taken");
    await make("b");
    await make("c");
    await expect(make("d")).rejects.toThrow("too many");
    const other = await chatOf(database.db, "toy", { chat: "c2", kind: "private" });
    await make("a", DAILY, other);
    expect((await schedulesIn(database.db, chat)).map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });

  it("of one name that are made at once are one", async () => {
    const { database, chat, make } = await setUp();
    const made = await Promise.allSettled([make("a"), make("a"), make("a")]);
    expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await schedulesIn(database.db, chat)).toHaveLength(1);
  });

  it("are read as they were made", async () => {
    const { database, chat, make } = await setUp();
    const times: readonly When[] = [DAILY, { kind: "every", everyMs: HOUR_MS }, { kind: "at", at: NOW }];
    for (const when of times) await make(when.kind, when);
    expect((await schedulesIn(database.db, chat)).map(({ when }) => when)).toEqual(times);
    expect((await schedulesIn(database.db, chat))[0]).toEqual({
      number: 1,
      name: "cron",
      by: "agent",
      person: "ada",
      when: DAILY,
      timeZone: "UTC",
      prompt: "Water the plants.",
      active: true,
      nextAt: NOW,
      lastAt: 0,
      fires: 0,
      outcome: { kind: "none" },
    });
  });

  it("become a message once, however many workers come", async () => {
    const { database, make, fire, said } = await setUp();
    const number = await make();
    const row = await activeSchedule(database, number);
    const fired = await Promise.all([fire(number, { row }), fire(number, { row }), fire(number, { row })]);
    expect(fired.toSorted()).toEqual(["changed", "changed", "fired"]);
    expect(await said()).toEqual([{ id: 1, key: `schedule-${number}@${NOW}`, state: "waiting" }]);
    expect(await openSchedules(database, NOW + DAY_MS)).toEqual([{ id: number, at: NOW + DAY_MS }]);
    expect(await openSchedules(database, NOW + DAY_MS - 1)).toEqual([]);
    const message = await database.db.selectFrom("inbox").selectAll().executeTakeFirstOrThrow();
    expect(message).toMatchObject({ intent: 1, agent: "helper", sender: "", due_at: NOW, received_at: NOW });
  });

  it("are over behind their last time", async () => {
    const { database, chat, make, fire } = await setUp();
    const number = await make("once", { kind: "at", at: NOW });
    expect(await fire(number, { next: undefined })).toBe("fired");
    expect(await openSchedules(database, NOW + 3 * DAY_MS)).toEqual([]);
    expect((await schedulesIn(database.db, chat))[0]).toMatchObject({ active: false, fires: 1 });
    await make("once"); // its name is free
    expect(await schedulesIn(database.db, chat)).toHaveLength(1);
  });

  it("wait for the time before that is still at work, and do not pile up", async () => {
    const { make, fire, said } = await setUp();
    const number = await make();
    expect(await fire(number)).toBe("fired");
    expect(await fire(number, { now: NOW + DAY_MS })).toBe("busy");
    expect(await said()).toHaveLength(1);
  });

  it("are not done where they were changed meanwhile", async () => {
    const { database, chat, make, said } = await setUp();
    const number = await make();
    const row = await activeSchedule(database, number);
    if (!row) throw new Error("it is there");
    expect(await putScheduleOff(database, row, { at: NOW + HOUR_MS, held: "quiet hours" })).toBe(true);
    const by = {
      channel: "toy",
      chat,
      agent: "helper",
      event: due(number, NOW),
      next: NOW + DAY_MS,
      perDay: 20,
      laterAt: NOW,
      now: NOW,
    };
    expect(await fireSchedule(database, row, by)).toBe("changed");
    expect(await putScheduleOff(database, row, { at: NOW, held: "cap" })).toBe(false);
    expect(await leaveScheduleOut(database, row, { next: NOW, held: "cap" })).toBe(false);
    await cancelSchedule(database.db, chat, { number });
    expect(await fireSchedule(database, { ...row, next_at: NOW + HOUR_MS }, by)).toBe("changed");
    expect(await said()).toEqual([]);
  });

  it("that are put off keep what they are due for", async () => {
    const { database, chat, make } = await setUp();
    const number = await make();
    const row = await activeSchedule(database, number);
    if (row) await putScheduleOff(database, row, { at: NOW + HOUR_MS, held: "quiet hours" });
    expect(await activeSchedule(database, number)).toMatchObject({ due_at: NOW, next_at: NOW + HOUR_MS });
    expect((await schedulesIn(database.db, chat))[0]?.outcome).toEqual({ kind: "held", why: "quiet hours" });
  });

  it("are left out past the cap, and the agent is told with its next turn", async () => {
    const { database, chat, make, fire, said } = await setUp();
    const number = await make();
    expect(await fire(number, { perDay: 0 })).toBe("capped");
    expect(await said()).toEqual([{ id: 1, key: `schedule-${number}@${NOW}`, state: "aside" }]);
    expect(await activeSchedule(database, number)).toMatchObject({ next_at: NOW + DAY_MS, fires: 0 });
    expect((await schedulesIn(database.db, chat))[0]?.outcome).toEqual({ kind: "held", why: "cap" });
    expect(await fire(number, { now: NOW + DAY_MS })).toBe("fired");
    expect((await schedulesIn(database.db, chat))[0]?.outcome).toEqual({ kind: "waiting" });
  });

  it("that come once are put off past the cap", async () => {
    const { database, make, fire, said } = await setUp();
    const number = await make("once", { kind: "at", at: NOW });
    expect(await fire(number, { next: undefined, perDay: 0 })).toBe("capped");
    expect(await said()).toEqual([]);
    expect(await activeSchedule(database, number)).toMatchObject({ due_at: NOW, next_at: NOW + 2 * DAY_MS });
  });

  it("are ended in their chat alone, and never the operator's", async () => {
    const { database, chat, make } = await setUp();
    const number = await make();
    const other = await chatOf(database.db, "toy", { chat: "c2", kind: "private" });
    await takeUpSchedules(database, new Map([["morning", rule()]]), { next: () => NOW, now: NOW });
    expect(await cancelSchedule(database.db, other, { number })).toBeUndefined();
    expect(await cancelSchedule(database.db, chat, { name: "morning" })).toBeUndefined();
    expect(await cancelSchedule(database.db, chat, { name: "water" })).toMatchObject({ number });
    expect(await cancelSchedule(database.db, chat, { name: "water" })).toBeUndefined();
    expect((await schedulesIn(database.db, chat)).map(({ name }) => name)).toEqual(["morning"]);
    expect(await schedulesIn(database.db, other)).toEqual([]);
  });

  const rule = (fields: Partial<ScheduleRule> = {}): ScheduleRule => ({
    channel: "toy",
    chat: "c1",
    when: DAILY,
    timeZone: "UTC",
    prompt: "Say good morning.",
    ...fields,
  });
  const takeUp = async (
    database: Database,
    rules: Readonly<Record<string, ScheduleRule>>,
    next: number | undefined,
    now = NOW,
  ): Promise<void> =>
    await takeUpSchedules(database, new Map(Object.entries(rules)), { next: () => next, now });

  it("of the operator are what perch.yaml says", async () => {
    const { database, make } = await setUp();
    await make("water");
    await takeUp(database, { morning: rule(), evening: rule() }, NOW + HOUR_MS);
    await takeUp(database, { morning: rule({ prompt: "Say hello." }), noon: rule() }, NOW + DAY_MS, NOW + 1);
    const found = await allSchedules(database);
    expect(found.map(({ name, by, prompt, nextAt }) => [name, by, prompt, nextAt])).toEqual([
      ["water", "agent", "Water the plants.", NOW],
      // It is due as before: only what is said has changed.
      ["morning", "operator", "Say hello.", NOW + HOUR_MS],
      ["noon", "operator", "Say good morning.", NOW + DAY_MS],
    ]);
  });

  it.each([
    ["time", { when: { kind: "every", everyMs: HOUR_MS } }],
    ["time zone", { timeZone: "Europe/Berlin" }],
  ] as const)("of the operator begin anew with another %s", async (_what, changed) => {
    const { database } = await setUp();
    await takeUp(database, { morning: rule() }, NOW + HOUR_MS);
    const [before] = await allSchedules(database);
    await takeUp(database, { morning: rule(changed) }, NOW + DAY_MS);
    expect(await allSchedules(database)).toMatchObject([{ number: before?.number, nextAt: NOW + DAY_MS }]);
  });

  it("of the operator that are over when they are first read are not done", async () => {
    const { database } = await setUp();
    await takeUp(database, { once: rule({ when: { kind: "at", at: NOW - 1 } }) }, undefined);
    expect(await openSchedules(database, NOW + 3 * DAY_MS)).toEqual([]);
    expect(await allSchedules(database)).toMatchObject([
      { active: false, outcome: { kind: "held", why: "past" } },
    ]);
  });

  it("of the operator find their chat once somebody has written there", async () => {
    const { database } = await setUp();
    await takeUp(database, { far: rule({ chat: "c9" }) }, NOW);
    const row = await activeSchedule(database, 1);
    if (!row) throw new Error("it is there");
    expect(await metChat(database, row)).toBeUndefined();
    const chat = await chatOf(database.db, "toy", { chat: "c9", kind: "group" });
    expect(await metChat(database, row)).toEqual({ chat, kind: "group" });
    expect(await schedulesIn(database.db, chat)).toHaveLength(1);
  });

  it("go with their chat, its connection's name, and what is forgotten of it", async () => {
    const { database, chat, make } = await setUp();
    await make();
    await takeUp(database, { morning: rule() }, NOW);
    await database.db
      .transaction()
      .execute((trx) => moveChat(trx, { channel: "toy", from: "c1", to: "c2", now: NOW }));
    expect(await activeSchedule(database, 1)).toMatchObject({ chat_id: chat, to_chat: "c2" });
    await renameChannel(database, "toy", "new");
    expect(await activeSchedule(database, 1)).toMatchObject({ channel: "new" });
    const to = { channel: "new", chat: "c2" };
    await database.db.transaction().execute((trx) => forgetChat(trx, { chat, to, now: NOW }));
    expect((await allSchedules(database)).map(({ by }) => by)).toEqual(["operator"]);
  });

  it("that are over are forgotten after their time, with what was counted then", async () => {
    const { database, chat, make, fire } = await setUp();
    const number = await make("once", { kind: "at", at: NOW });
    await fire(number, { next: undefined });
    await make("daily");
    await prune(database, NOW - DAY_MS);
    expect(await schedulesIn(database.db, chat)).toHaveLength(2);
    await prune(database, NOW + DAY_MS);
    expect((await schedulesIn(database.db, chat)).map(({ name }) => name)).toEqual(["daily"]);
    expect(await database.db.selectFrom("unasked").selectAll().execute()).toEqual([]);
  });

  it("are counted by day and chat with all that nobody has asked for", async () => {
    const { database, chat } = await setUp();
    const take = async (day: string): Promise<boolean> =>
      await database.db.transaction().execute((trx) => takeUnasked(trx, { chat, day, most: 2 }));
    expect(await Promise.all([take("2026-01-01"), take("2026-01-01"), take("2026-01-01")])).toEqual(
      expect.arrayContaining([true, true, false]),
    );
    expect(await take("2026-01-02")).toBe(true);
    await giveUnaskedBack(database.db, { chat, day: "2026-01-01" });
    expect([await take("2026-01-01"), await take("2026-01-01")]).toEqual([true, false]);
  });

  it.each([
    [["sent", "sent"], { kind: "delivered" }],
    [["sent", "planned"], { kind: "waiting" }],
    [["parked"], { kind: "waiting" }],
    [["sent", "failed", "sent"], { kind: "partly", sent: 2, of: 3 }],
    [["sent", "unknown"], { kind: "unknown" }],
    [["failed"], { kind: "failed", why: "refused" }],
    [["cancelled"], { kind: "failed", why: "refused" }],
    [[], { kind: "failed", why: "there was nothing to send" }],
  ] as const)("whose answer is %j are told of as that", async (states, outcome) => {
    const { database, chat, make, fire } = await setUp();
    await fire(await make());
    const turn = await database.db
      .insertInto("turn")
      .values({
        chat_id: chat,
        intent: 1,
        agent: "helper",
        thread: "",
        state: "done",
        error: "",
        started_at: NOW,
        ended_at: NOW,
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    await database.db.updateTable("inbox").set({ state: "consumed", turn_id: turn.id }).execute();
    const piece = {
      chat_id: chat,
      channel: "toy",
      to_chat: "c1",
      to_topic: "",
      turn_id: turn.id,
      seq: 0,
      body: "",
      reply_to: "",
      replaces: "",
      form: "",
      again: 0,
      attempts: 1,
      not_before: 0,
      platform_ids: "[]",
      created_at: NOW,
      begun_at: 0,
      ended_at: NOW,
    };
    for (const state of states)
      await database.db
        .insertInto("piece")
        .values({ ...piece, state, error: state === "sent" ? "" : "refused" })
        .execute();
    expect((await schedulesIn(database.db, chat))[0]?.outcome).toEqual(outcome);
  });
});
