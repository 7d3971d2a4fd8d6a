import { expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { claimTask, endTask, openTasks, renewTask } from "../../src/store/background-runs.ts";
import { insertTask } from "../../src/store/background.ts";
import type { Database } from "../../src/store/database.ts";
import { beginAttachment, leaveAttachment, renewAttachment } from "../../src/store/fetches.ts";
import { beginWork, finishWork, nextDue, touch } from "../../src/store/memory.ts";
import { HOLD_MS } from "../../src/store/renew.ts";
import { type Claim, type ClaimedTurn, claimTurn, commitTurn, renewHold } from "../../src/store/turns.ts";
import { openWork, recover } from "../../src/store/upkeep.ts";
import { type Taking, takingIn } from "../intake/set-up.ts";
import { besides, eachDatabase, type OpenDatabase } from "../support/database.ts";
import { AGENT } from "../support/gateway.ts";

const END = { state: "done", messages: "consumed", error: "", pieces: [] } as const;

/** Two processes, each with connections of its own, and what people say. */
async function two(
  open: OpenDatabase,
  agent: AgentDefinition = AGENT,
): Promise<Taking & { readonly other: Database }> {
  const taking = takingIn(await open(), { allow: ["ada", "bob", "cyd"] }, agent);
  return { ...taking, other: await besides(taking.database, open) };
}

function claim(database: Database, chat: ChatId, owner: string, now: number): Promise<Claim> {
  const by = { owner, others: true, now, until: now + HOLD_MS, isOpen: () => true };
  return claimTurn(database, chat, by);
}

async function turnOf(claimed: Promise<Claim>): Promise<ClaimedTurn> {
  const found = await claimed;
  if (found.kind !== "turn") throw new Error(found.kind);
  return found.turn;
}

const CHAT = 1 as ChatId; // the first one of each database

eachDatabase("what several processes share", (open) => {
  it("is one turn, whoever claims it", async () => {
    const { database, other, clock, say } = await two(open);
    await say("ada", "hello");
    const now = clock.now();
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, n) => claim(n % 2 === 0 ? database : other, CHAT, `p${n}`, now)),
    );
    expect(claims.map(({ kind }) => kind).toSorted()).toEqual(["turn", ...Array<string>(7).fill("wait")]);
  });

  it("is taken over from a holder whose time is over: the crash counts, and what it has come to is refused", async () => {
    const { database, other, clock, say, fates } = await two(open);
    await say("ada", "hello");
    const stalled = await turnOf(claim(database, CHAT, "p1", clock.now()));
    await say("ada", "and?");
    await clock.advance(HOLD_MS - 1);
    expect(await claim(other, CHAT, "p2", clock.now())).toEqual({ kind: "wait", at: clock.now() + 1 });
    await clock.advance(1);
    const taken = await turnOf(claim(other, CHAT, "p2", clock.now()));
    expect([taken.messages.map(({ event }) => event.id), taken.again]).toEqual([["e1"], true]);
    const lost = { code: "store.hold_lost" };
    await expect(commitTurn(database, stalled, { ...END, now: clock.now() })).rejects.toMatchObject(lost);
    await expect(renewHold(database, stalled.hold, clock.now())).rejects.toMatchObject(lost);
    await commitTurn(other, taken, { ...END, now: clock.now() });
    expect(await fates()).toEqual(["consumed", "waiting"]);
    const turns = await database.db.selectFrom("turn").select(["state", "error"]).orderBy("id").execute();
    expect(turns).toEqual([
      { state: "abandoned", error: "its process ended, or stalled" },
      { state: "done", error: "" },
    ]);
  });

  it("is found by the sweep when the time of who is at it is over, and not before", async () => {
    const { database, clock, say } = await two(open);
    await say("ada", "hello");
    await claim(database, CHAT, "p1", clock.now());
    expect(await openWork(database, clock.now())).toMatchObject({ turns: [] });
    const at = clock.now() + HOLD_MS;
    expect(await openWork(database, at)).toMatchObject({ turns: [{ chat: CHAT, at }] });
  });

  it("is set aside when it has ended five processes, whichever they were", async () => {
    const { database, other, clock, say } = await two(open);
    await say("ada", "hello");
    for (const [n, process] of [database, other, database, other, database].entries()) {
      await turnOf(claim(process, CHAT, `p${n}`, clock.now()));
      await clock.advance(HOLD_MS);
    }
    expect(await claim(other, CHAT, "p9", clock.now())).toMatchObject({ kind: "dead" });
  });

  it("runs no two at once that were in flight at three crashes, so that what happens then is more likely their own", async () => {
    const { database, other, clock, say } = await two(open);
    await say("ada", "hello");
    await say("bob", "hello");
    const [ada, bob] = [CHAT, 2 as ChatId];
    for (let crash = 0; crash < 3; crash += 1) {
      for (const chat of [ada, bob]) await turnOf(claim(database, chat, `p${crash}`, clock.now()));
      await clock.advance(HOLD_MS);
    }
    const claims = await Promise.all([
      claim(database, ada, "p3", clock.now()),
      claim(other, bob, "p4", clock.now()),
    ]);
    expect(claims.map(({ kind }) => kind).toSorted()).toEqual(["turn", "wait"]);
    // The one that runs ends its process, and the other runs then.
    await clock.advance(HOLD_MS);
    const waits = claims[0]?.kind === "wait" ? ada : bob;
    expect(await claim(database, waits, "p5", clock.now())).toMatchObject({ kind: "turn" });
  });
});

eachDatabase("a turn that is stopped where another process runs it", (open) => {
  async function stopped(): Promise<Taking & { readonly other: Database; readonly turn: ClaimedTurn }> {
    const taking = await two(open);
    await taking.say("ada", "hello");
    const turn = await turnOf(claim(taking.other, CHAT, "p2", taking.clock.now()));
    await taking.say("ada", "/stop");
    return { ...taking, turn };
  }

  it("learns so when it renews its hold", async () => {
    const { other, clock, turn, say } = await stopped();
    expect(await renewHold(other, turn.hold, clock.now() + HOLD_MS)).toEqual({ stopped: true });
    await commitTurn(other, turn, { ...END, state: "stopped", now: clock.now() });
    await say("ada", "and now?");
    const next = await turnOf(claim(other, CHAT, "p2", clock.now()));
    expect(await renewHold(other, next.hold, clock.now() + HOLD_MS)).toEqual({ stopped: false });
  });

  it("does not say what it has come to meanwhile", async () => {
    const { other, clock, turn } = await stopped();
    await expect(commitTurn(other, turn, { ...END, now: clock.now() })).rejects.toMatchObject({
      code: "turn.stopped",
    });
  });

  it.each(["taken over", "recovered"])(
    "is not run again where its process dies and it is %s",
    async (how) => {
      const { database, clock, fates } = await stopped();
      await clock.advance(HOLD_MS);
      if (how === "recovered") await recover(database, clock.now());
      expect(await claim(database, CHAT, "p1", clock.now())).toEqual({ kind: "idle" });
      expect(await fates()).toEqual(["consumed", "consumed"]);
      expect(await database.db.selectFrom("turn").select("state").execute()).toEqual([{ state: "stopped" }]);
    },
  );
});

eachDatabase("other work that several processes share", (open) => {
  it("of fetching an attachment is begun by one, and by another when its time is over", async () => {
    const { database, other, clock, say } = await two(open);
    await say("ada", "", { content: [{ type: "unfetched", kind: "image", ref: "f", declared: {} }] });
    const begin = async (owner: string, now: number): Promise<number | undefined> =>
      (await beginAttachment(owner === "p1" ? database : other, 1, { owner, now, until: now + HOLD_MS }))
        ?.attempt;
    const now = clock.now();
    const begun = await Promise.all([begin("p1", now), begin("p2", now), begin("p3", now)]);
    expect(begun.filter((attempt) => attempt !== undefined)).toEqual([1]);
    const owner = `p${begun.indexOf(1) + 1}`;
    expect(await renewAttachment(other, 1, { owner, until: now + 2 * HOLD_MS })).toBe(true);
    expect((await openWork(database, now + HOLD_MS)).attachments).toEqual([]);
    expect((await openWork(database, now + 2 * HOLD_MS)).attachments).toHaveLength(1);
    expect(await begin("p4", now + 2 * HOLD_MS)).toBe(2);
    expect(await renewAttachment(other, 1, { owner, until: now + 9 * HOLD_MS })).toBe(false);
    await leaveAttachment(other, 1, "p4");
    expect(await begin("p5", now + 2 * HOLD_MS)).toBe(3);
  });

  it("of a background task is run by one, and taken over with the crash counted", async () => {
    const { database, other, clock, say } = await two(open);
    await say("ada", "hello");
    const origin = {
      chat: CHAT,
      to: { channel: "toy", chat: "ada" },
      agent: "helper",
      thread: `${CHAT}/helper/1` as const,
      language: "en",
      person: "ada",
      byOwner: false,
    } as const;
    const { row = 0 } =
      (await insertTask(database, origin, { agent: "scout", prompt: "look" }, clock.now())) ?? {};
    const run = (process: Database, owner: string, now: number): ReturnType<typeof claimTask> =>
      claimTask(process, row, { owner, now, until: now + HOLD_MS, isOpen: () => true, givenUp: "" });
    const now = clock.now();
    const claims = await Promise.all([run(database, "p1", now), run(other, "p2", now)]);
    expect(claims.map(({ kind }) => kind).toSorted()).toEqual(["run", "wait"]);
    expect(await openTasks(database)).toEqual([{ row, at: now + HOLD_MS }]);
    const [first] = claims.flatMap((each) => (each.kind === "run" ? [each.open] : []));
    expect(await renewTask(database, first!, now + HOLD_MS + 5)).toBe(true);
    expect(await run(other, "p3", now + HOLD_MS)).toEqual({ kind: "wait", at: now + HOLD_MS + 5 });
    expect(await run(other, "p3", now + HOLD_MS + 5)).toMatchObject({
      kind: "run",
      open: { epoch: 2, failures: 0 },
    });
    expect(await renewTask(database, first!, now + 9 * HOLD_MS)).toBe(false);
    const end = { status: "success", result: "late", error: "" } as const;
    expect(await endTask(database, first!, end, now)).toBe(false);
  });

  it("of remembering is done by one, and by another when its time is over; who comes late changes nothing", async () => {
    const { database, other, clock } = await two(open);
    const owner = { scope: "person", channel: "toy", subject: "ada", agent: "helper" } as const;
    const thread = `${CHAT}/helper/1` as const;
    const now = clock.now();
    await touch(database.db, { owner, thread, chat: CHAT, signals: [], quietMs: 0, mostMs: 0 }, now);
    const begun = await Promise.all([beginWork(database, owner, { now }), beginWork(other, owner, { now })]);
    const [first] = begun.flatMap((work) => work ?? []);
    expect(begun.filter((work) => work !== undefined)).toHaveLength(1);
    expect(await nextDue(database.db, owner)).toBe(first!.heldUntil);
    const second = await beginWork(other, owner, { now: first!.heldUntil });
    const decide = () => ({ added: [], changed: [], removed: [] });
    const done = { upTo: "m1", more: false, now: first!.heldUntil, decide };
    expect(await finishWork(database, first!, done)).toBe(false);
    expect(await finishWork(other, second!, done)).toBe(true);
    expect(await nextDue(database.db, owner)).toBeUndefined();
  });
});
