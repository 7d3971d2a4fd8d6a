import { expect, it } from "vitest";
import type { MessageEvent } from "../../src/core/events.ts";
import type { During } from "../../src/core/rules.ts";
import { insertAttachments } from "../../src/store/attachments.ts";
import { chatOf, currentThread, freshThread } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { stopHeld } from "../../src/store/holds.ts";
import { insertEvent, openIntent } from "../../src/store/inbox.ts";
import { isInterrupted } from "../../src/store/interruptions.ts";
import { claimSteered, duringsIn, steeredBefore } from "../../src/store/meanwhile.ts";
import { PAUSED } from "../../src/store/kept.ts";
import { pauseByCommand, UNTIL_RESUMED } from "../../src/store/pauses.ts";
import { abandonTurn, interruptTurn } from "../../src/store/turn-ends.ts";
import { type ClaimedTurn, claimTurn, commitTurn } from "../../src/store/turns.ts";
import { recover } from "../../src/store/upkeep.ts";
import { eachDatabase } from "../support/database.ts";

const NOW = 1_700_000_000_000;
const MOST = 12;

/** A chat in which people speak, each text under its own name, and turns begin. */
async function setUp(database: Database, kind: "private" | "group" = "private") {
  const place = { chat: "c", kind };
  const chat = await chatOf(database.db, "toy", place);
  const rows = new Map<string, number>();
  const say = async (
    text: string,
    of: {
      readonly during?: During | "";
      readonly joins?: string;
      readonly agent?: string;
      readonly dueAt?: number;
      readonly task?: "compact";
      readonly media?: true;
    } = {},
  ): Promise<void> => {
    const agent = of.agent ?? "helper";
    const event: MessageEvent = {
      type: "message",
      id: text,
      ref: text,
      place,
      from: { id: "ada", name: "Ada" },
      sentAt: "2026-01-01T00:00:00.000Z",
      content: [
        { type: "text", text },
        ...(of.media
          ? [{ type: "unfetched" as const, kind: "image" as const, ref: text, declared: {} }]
          : []),
      ],
      addressed: true,
    };
    await database.db.transaction().execute(async (trx) => {
      const id = await insertEvent(trx, {
        channel: "toy",
        chat,
        key: text,
        type: "message",
        payload: JSON.stringify(event),
        payloadHash: text,
        contentHash: "",
        sender: "ada",
        ref: text,
        state: "waiting",
        why: "",
        agent,
        thread: await currentThread(trx, chat, agent),
        intent: of.joins === undefined ? 0 : (rows.get(of.joins) ?? 0),
        during: of.during ?? "",
        ...(of.task ? { task: of.task } : {}),
        album: "",
        receivedAt: NOW,
        dueAt: of.dueAt ?? NOW,
        trace: { at: NOW, step: "admitted" },
      });
      if (id === undefined) throw new Error(`"${text}" was said already`);
      rows.set(text, id);
      if (of.joins === undefined) await openIntent(trx, id);
      await insertAttachments(trx, id, { chat, channel: "toy", event, which: "own" });
    });
  };
  const begin = async (): Promise<ClaimedTurn> => {
    const by = { owner: "me", now: NOW, until: NOW + 60_000, isOpen: () => true };
    const claimed = await claimTurn(database, chat, by);
    if (claimed.kind !== "turn") throw new Error(`no turn, but ${claimed.kind}`);
    return claimed.turn;
  };
  const steer = async (turn: ClaimedTurn, now = NOW): Promise<readonly string[]> =>
    (await claimSteered(database, turn, now)).map(({ messages }) =>
      messages.map(({ event }) => event.id).join("+"),
    );
  const end = async (
    turn: ClaimedTurn,
    of: Partial<Parameters<typeof commitTurn>[2]> = {},
  ): Promise<boolean> =>
    await commitTurn(database, turn, {
      state: "done",
      messages: "consumed",
      error: "",
      pieces: [],
      now: NOW,
      ...of,
    });
  /** Of each text: what it is, how often it was claimed, and of which intent. */
  const states = async (): Promise<Readonly<Record<string, string>>> => {
    const found = await database.db.selectFrom("inbox").selectAll().orderBy("id").execute();
    const names = new Map([...rows].map(([text, id]) => [id, text]));
    return Object.fromEntries(
      found.map((row) => [
        row.ref,
        `${row.state} ${row.claims} ${names.get(row.intent) ?? "-"} ${row.during}`.trim(),
      ]),
    );
  };
  const steps = async (text: string): Promise<readonly string[]> => {
    const { trace } = await database.db
      .selectFrom("inbox")
      .select("trace")
      .where("ref", "=", text)
      .executeTakeFirstOrThrow();
    return trace.split("\n").map((line) => (JSON.parse(line) as { step: string }).step);
  };
  return { chat, rows, say, begin, steer, end, states, steps };
}

const intentOf = (rows: ReadonlyMap<string, number>, text: string): number => rows.get(text) ?? 0;

eachDatabase("what is said while a turn runs", (open) => {
  it("is claimed in order, each intent as one, and nothing twice", async () => {
    const { say, begin, steer, states, steps } = await setUp(await open());
    await say("A");
    const turn = await begin();
    expect(await steer(turn)).toEqual([]);
    await say("B", { during: "steer" });
    await say("C", { during: "steer" });
    await say("B2", { during: "steer", joins: "B" });
    expect(await steer(turn)).toEqual(["B+B2", "C"]);
    expect(await steer(turn)).toEqual([]);
    expect(await states()).toEqual({
      A: "claimed 1 A",
      B: "claimed 1 B steer",
      C: "claimed 1 C steer",
      B2: "claimed 1 B steer",
    });
    expect(await steps("B")).toEqual(["admitted", "steered"]);
  });

  it.each([
    ["of another agent", { agent: "other", during: "steer" }],
    ["with an open window", { during: "steer", dueAt: NOW + 1 }],
    ["with media to be fetched", { during: "steer", media: true }],
    ["that is to sum the thread up", { task: "compact" }],
    ["that is to have a turn of its own", { during: "queue" }],
    ["that waits together with more", { during: "collect" }],
    ["that is to interrupt it", { during: "interrupt" }],
    ["that came when no turn ran", {}],
  ] as const)("is not claimed past one %s", async (_which, other) => {
    const { say, begin, steer } = await setUp(await open());
    await say("A");
    const turn = await begin();
    await say("B", { during: "steer" });
    await say("X", other);
    await say("C", { during: "steer" });
    expect(await steer(turn)).toEqual(["B"]);
    expect(await steer(turn)).toEqual([]);
  });

  it("is not claimed for a thread that was ended, nor for a hold that is another's", async () => {
    const database = await open();
    const { chat, say, begin, steer } = await setUp(database);
    await say("A");
    const turn = await begin();
    await database.db.transaction().execute(async (trx) => await freshThread(trx, chat, "helper"));
    await say("B", { during: "steer" });
    expect(await steer(turn)).toEqual([]);
    const other = { ...turn, hold: { ...turn.hold, epoch: turn.hold.epoch + 1 } };
    await expect(claimSteered(database, other, NOW)).rejects.toMatchObject({ code: "store.hold_lost" });
  });

  it("is not claimed for a turn that a pause has cut off", async () => {
    const database = await open();
    const { say, begin, steer } = await setUp(database);
    await say("A");
    const turn = await begin();
    await say("B", { during: "steer" });
    await database.db.updateTable("chat").set({ paused_epoch: turn.hold.epoch }).execute();
    expect(await steer(turn)).toEqual([]);
  });

  it("says in a group who speaks", async () => {
    const database = await open();
    const { say, begin } = await setUp(database, "group");
    await say("A");
    const turn = await begin();
    await say("B", { during: "steer" });
    const [steered] = await claimSteered(database, turn, NOW);
    expect([turn.messages[0]?.speaker, steered?.messages[0]?.speaker]).toEqual([1, 1]);
  });

  it("ends with the answer that was given with it, and the rest waits as if it had never been told", async () => {
    const { rows, say, begin, steer, end, states, steps } = await setUp(await open());
    await say("A");
    const turn = await begin();
    await say("B", { during: "steer" });
    await steer(turn);
    await say("C", { during: "steer" });
    await steer(turn);
    expect(await end(turn, { steered: [intentOf(rows, "B")] })).toBe(true);
    expect(await states()).toEqual({ A: "consumed 1 A", B: "consumed 1 B steer", C: "waiting 0 C" });
    expect(await steps("C")).toEqual(["admitted", "steered", "not answered with it"]);
    const next = await begin();
    expect([next.intent, next.again]).toEqual([intentOf(rows, "C"), false]);
  });

  it.each([
    ["failed", "A: consumed 1 A, B: waiting 0 B"],
    ["stopped", "A: consumed 1 A, B: consumed 1 B steer"],
  ] as const)("goes with a turn that has %s as it should", async (state, expected) => {
    const { say, begin, steer, end, states } = await setUp(await open());
    await say("A");
    const turn = await begin();
    await say("B", { during: "steer" });
    await steer(turn);
    expect(await end(turn, { state, error: "turn.timed_out" })).toBe(state === "failed");
    expect(
      Object.entries(await states())
        .map((entry) => entry.join(": "))
        .join(", "),
    ).toBe(expected);
  });

  it("waits with its turn that was given back, and is then the next", async () => {
    const database = await open();
    const { rows, say, begin, steer, states } = await setUp(database);
    await say("A");
    const turn = await begin();
    await say("B", { during: "steer" });
    await steer(turn);
    await abandonTurn(database, turn, NOW);
    expect(await states()).toEqual({ A: "waiting 0 A", B: "waiting 0 B" });
    const again = await begin();
    expect([again.intent, again.again]).toEqual([intentOf(rows, "A"), true]);
    expect(await steer(again)).toEqual([]);
  });

  it("has its crash counted, and is run alone after it; its answer that stands in the thread ends it", async () => {
    const database = await open();
    const { chat, rows, say, begin, steer, end, states } = await setUp(database);
    await say("A");
    await say("B", { during: "steer" });
    await say("C", { during: "steer" });
    const turn = await begin();
    expect(await steer(turn)).toEqual(["B", "C"]);
    await recover(database, NOW);
    const again = await begin();
    expect([again.intent, await steer(again)]).toEqual([intentOf(rows, "A"), []]);
    expect(await states()).toMatchObject({ B: "waiting 1 B steer", C: "waiting 1 C steer" });
    const intents = [intentOf(rows, "B")];
    const heard = await steeredBefore(database, chat, intents);
    expect(heard.map(({ messages }) => messages.map(({ event }) => event.id))).toEqual([["B"]]);
    await end(again, { steered: intents });
    expect(await states()).toMatchObject({
      A: "consumed 2 A",
      B: "consumed 1 B steer",
      C: "waiting 1 C steer",
    });
    expect((await begin()).intent).toBe(intentOf(rows, "C"));
  });
});

eachDatabase("what interrupts a turn", (open) => {
  it("is answered with what that was of and what was steered into it, with no crash counted", async () => {
    const database = await open();
    const { chat, say, begin, steer, states } = await setUp(database);
    await say("A");
    const first = await begin();
    await say("B", { during: "steer" });
    await steer(first);
    await say("C", { during: "steer" });
    expect(await isInterrupted(database, first, MOST)).toBe(false);
    await say("D", { during: "interrupt" });
    await say("E", { during: "steer" });
    expect(await duringsIn(database, chat)).toEqual(expect.arrayContaining(["steer", "interrupt"]));
    expect(await isInterrupted(database, first, MOST)).toBe(true);
    await interruptTurn(database, first, { most: MOST, now: NOW });
    expect(await states()).toEqual({
      A: "waiting 0 A",
      B: "waiting 0 A",
      C: "waiting 0 A",
      D: "waiting 0 A",
      E: "waiting 0 E steer",
    });
    const next = await begin();
    expect([next.messages.map(({ event }) => event.id), next.again]).toEqual([["A", "B", "C", "D"], true]);
    await say("F", { during: "interrupt" });
    await interruptTurn(database, next, { most: MOST, now: NOW });
    expect((await begin()).messages.map(({ event }) => event.id)).toEqual(["A", "B", "C", "D", "E", "F"]);
    const turns = await database.db.selectFrom("turn").select(["state", "error"]).orderBy("id").execute();
    expect(turns.map(({ state, error }) => `${state} ${error}`.trim())).toEqual([
      "abandoned turn.interrupted",
      "abandoned turn.interrupted",
      "running",
    ]);
  });

  it.each([
    ["queue", { during: "queue" }],
    ["a summary", { task: "compact" }],
    ["another agent's", { during: "interrupt", agent: "other" }],
  ] as const)("overtakes nothing that stands before it: %s", async (_what, other) => {
    const database = await open();
    const { say, begin } = await setUp(database);
    await say("A");
    const turn = await begin();
    await say("X", other);
    await say("C", { during: "interrupt" });
    expect(await isInterrupted(database, turn, MOST)).toBe(false);
  });

  it("does not begin anew what its people have stopped, or have had paused, since", async () => {
    const database = await open();
    const { chat, say, begin, end, states } = await setUp(database);
    await say("A");
    const stopped = await begin();
    await say("B", { during: "interrupt" });
    await database.db.transaction().execute(async (trx) => await stopHeld(trx, chat));
    const most = { most: MOST, now: NOW };
    await expect(interruptTurn(database, stopped, most)).rejects.toMatchObject({ code: "turn.stopped" });
    await expect(abandonTurn(database, stopped, NOW)).rejects.toMatchObject({ code: "turn.stopped" });
    await end(stopped, { state: "stopped", error: "turn.stopped" });
    const paused = await begin();
    await say("C", { during: "interrupt" });
    const until = { until: UNTIL_RESUMED, why: PAUSED, now: NOW };
    await database.db.transaction().execute(async (trx) => await pauseByCommand(trx, chat, until));
    await expect(interruptTurn(database, paused, most)).rejects.toMatchObject({ code: "turn.stopped" });
    await end(paused, { state: "stopped", error: "turn.stopped" });
    expect(await states()).toEqual({ A: "consumed 1 A", B: "aside 1 -", C: "aside 0 -" });
  });

  it("does not make more of an intent than may be one", async () => {
    const database = await open();
    const { say, begin, steer } = await setUp(database);
    await say("A");
    const turn = await begin();
    await say("B", { during: "steer" });
    await steer(turn);
    await say("C", { during: "interrupt" });
    expect(await isInterrupted(database, turn, 2)).toBe(false);
    expect(await isInterrupted(database, turn, 3)).toBe(true);
  });
});
