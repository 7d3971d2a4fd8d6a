import { expect, it } from "vitest";
import type { EditEvent, InboundEvent, MessageEvent } from "../../src/core/events.ts";
import type { ChannelRules } from "../../src/core/rules.ts";
import { Intake } from "../../src/intake/intake.ts";
import type { Correction } from "../../src/store/asides.ts";
import type { Database } from "../../src/store/database.ts";
import { insertPieces } from "../../src/store/pieces.ts";
import { endPiece } from "../../src/store/sending.ts";
import { abandonTurn } from "../../src/store/turn-ends.ts";
import { type ClaimedTurn, claimTurn, commitTurn } from "../../src/store/turns.ts";
import { prune, recover } from "../../src/store/upkeep.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";
import { eachDatabase } from "../support/database.ts";
import { AGENT, OPEN_TO_ADA } from "../support/gateway.ts";

const GROUP = { chat: "g", kind: "group" } as const;

/** Intake on a database, and turns that are claimed and ended by hand. */
async function setUp(database: Database, rules: Partial<ChannelRules> = {}) {
  const clock = manualClock();
  const corrected: Correction[] = [];
  const intake = new Intake({
    database,
    clock,
    log: memoryLog([]),
    rules: {
      channels: new Map([["toy", { ...OPEN_TO_ADA, context: 2, ...rules }]]),
      agents: new Map([[AGENT.name, AGENT]]),
    },
    words: () => [],
    connections: () => [],
    effects: {
      fetch: () => {},
      turn: () => {},
      deliver: () => {},
      stop: () => {},
      forget: () => {},
      resumed: () => {},
      interrupt: () => {},
      sign: () => {},
      unsign: () => {},
      correct: (_chat, correction) => void corrected.push(correction),
    },
  });
  let ids = 0;
  const accept = async (event: InboundEvent): Promise<void> => void (await intake.accept("toy", [event]));
  const say = async (
    text: string,
    { part, ...more }: Partial<MessageEvent> & { readonly part?: true } = {},
  ): Promise<MessageEvent> => {
    ids += 1;
    const event: MessageEvent = {
      type: "message",
      id: `${ids}`,
      ref: `${ids}`,
      place: GROUP,
      from: { id: "ada", name: "Ada" },
      sentAt: "2026-01-01T00:00:00.000Z",
      content: [{ type: "text", text }],
      addressed: true,
      ...(part ? {} : { whole: true }),
      ...more,
    };
    await accept(event);
    return event;
  };
  const edit = async ({ whole: _whole, ...message }: MessageEvent, text: string): Promise<void> => {
    ids += 1;
    const event: EditEvent = { ...message, type: "edited", id: `${ids}`, content: [{ type: "text", text }] };
    await accept(event);
  };
  const remove = async (...refs: readonly string[]): Promise<void> => {
    ids += 1;
    await accept({ type: "deleted", id: `${ids}`, place: GROUP, refs, sentAt: "" });
  };
  const react = async (
    ref: string,
    added: readonly string[],
    removed: readonly string[] = [],
  ): Promise<void> => {
    ids += 1;
    const from = { id: "ada", name: "Ada" };
    await accept({ type: "reaction", id: `${ids}`, place: GROUP, ref, from, sentAt: "", added, removed });
  };
  const claim = async (): Promise<ClaimedTurn> => {
    await clock.advance(1_000);
    const now = clock.now();
    const by = { owner: "me", now, until: now + 60_000, isOpen: () => true };
    const { id } = await database.db.selectFrom("chat").select("id").executeTakeFirstOrThrow();
    const claimed = await claimTurn(database, id, by);
    if (claimed.kind !== "turn") throw new Error(claimed.kind);
    return claimed.turn;
  };
  /** Its answer stands on the platform as this. */
  const end = async (
    turn: ClaimedTurn,
    as: { ref?: string; corrected?: readonly number[]; stopped?: true } = {},
  ) => {
    const now = clock.now();
    await commitTurn(database, turn, {
      state: as.stopped ? "stopped" : "done",
      messages: "consumed",
      error: "",
      pieces: [],
      ...(as.corrected ? { corrected: as.corrected } : {}),
      now,
    });
    if (as.ref === undefined) return;
    const body = { kind: "text", rendered: { text: "", marks: [] } } as const;
    await insertPieces(
      database.db,
      [{ chat: turn.hold.chat, to: turn.to, turn: turn.id, seq: 0, body }],
      now,
    );
    const piece = await database.db
      .selectFrom("piece")
      .select("id")
      .orderBy("id", "desc")
      .executeTakeFirstOrThrow();
    await endPiece(database, piece.id, { state: "sent", ids: [as.ref], now });
  };
  const states = async (): Promise<readonly string[]> =>
    (await database.db.selectFrom("inbox").select("state").orderBy("id").execute()).map(({ state }) => state);
  return { clock, corrected, say, edit, remove, react, claim, end, states };
}

const told = (turn: ClaimedTurn): readonly string[] =>
  turn.asides.map(({ event, speaker }) => {
    const [part] = "content" in event ? event.content : [];
    const said = part?.type === "text" ? part.text : event.type === "reaction" ? event.added.join() : "";
    return `${event.type} ${said} ${speaker}`;
  });

eachDatabase("what is told beside a turn", (open) => {
  it("is kept and trimmed, goes with the turn, and comes back when that does", async () => {
    const database = await open();
    const { say, claim, end, states, clock } = await setUp(database);
    for (const words of ["one", "two", "three"])
      await say(words, { addressed: false, from: { id: "bob", name: "Bob" } });
    expect(await states()).toEqual(["refused", "aside", "aside"]);
    await say("bot?");
    const first = await claim();
    expect(told(first)).toEqual(["message two 2", "message three 2"]);
    expect(first.messages[0]?.speaker).toBe(1);
    await abandonTurn(database, first, clock.now());
    expect(await states()).toEqual(["refused", "aside", "aside", "waiting"]);
    const second = await claim();
    expect(told(second)).toEqual(told(first));
    expect(await recover(database, clock.now())).toEqual({ turns: 1, messages: 3 });
    expect(await states()).toEqual(["refused", "aside", "aside", "waiting"]);
    const third = await claim();
    expect(told(third)).toEqual(told(first));
    await end(third);
    expect(await states()).toEqual(["refused", "consumed", "consumed", "consumed"]);
    const claims = await database.db
      .selectFrom("inbox")
      .select(["claims", "payload"])
      .orderBy("id")
      .execute();
    expect(claims.map((row) => row.claims)).toEqual([0, 0, 0, 2]);
    expect(new Set(claims.map((row) => row.payload))).toEqual(new Set([""]));
  });

  it("is an edit, a taking back and a reaction, of the thread that knows of it", async () => {
    const database = await open();
    const { say, edit, remove, react, claim, end, states } = await setUp(database);
    const asked = await say("one");
    const other = await say("two");
    await end(await claim(), { ref: "ours 1" });
    await end(await claim(), { ref: "ours 2" });
    await edit(asked, "one more");
    await edit(asked, "one too many");
    await edit(asked, "one too many");
    await remove(other.ref, "unknown");
    await react("ours 1", ["👍"]);
    await react("ours 1", ["🎉"], ["👍"]);
    await react("theirs", ["👍"]);
    expect((await states()).join()).toBe(
      "consumed,consumed," + // the messages
        "withdrawn,aside,consumed," + // the edits
        "aside,refused," + // what was taken back
        "aside,consumed,refused", // the reactions
    );
    await say("go on");
    const turn = await claim();
    expect(told(turn)).toEqual(["edited one too many 1", "deleted  1", "reaction 🎉 1"]);
    expect(turn.asides.map(({ event }) => "known" in event && event.known.newest)).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("is an edit of a running message once that has ended, unless the agent was told of it", async () => {
    for (const steered of [true, false]) {
      const { say, edit, claim, end, corrected } = await setUp(await open(), {
        edits: { running: "steer", answered: "note" },
      });
      const asked = await say("one");
      const running = await claim();
      await edit(asked, "two");
      expect(corrected).toMatchObject([{ id: 2, about: 1, event: { type: "edited" } }]);
      await end(running, steered ? { corrected: [2] } : {});
      await say("go on");
      expect(told(await claim())).toEqual(steered ? [] : ["edited two 1"]);
    }
  });

  it.each(["a crash", "a stop"])("is an edit of a message that waits again after %s", async (after) => {
    const database = await open();
    const { say, edit, claim, end, clock, states } = await setUp(database);
    const asked = await say("one");
    const first = await claim();
    await (after === "a crash" ? recover(database, clock.now()) : abandonTurn(database, first, clock.now()));
    // What it said may stand in the thread, and be answered there.
    await edit(asked, "two");
    expect(await states()).toEqual(["waiting", "aside"]);
    const again = await claim();
    expect([again.messages[0]?.event, told(again)]).toEqual([asked, []]);
    await end(again);
    await say("go on");
    expect(told(await claim())).toEqual(["edited two 1"]);
  });

  it("is a turn of its own, which is let be when the first one is stopped", async () => {
    for (const stopped of [true, false]) {
      const { say, edit, claim, end, states } = await setUp(await open(), {
        edits: { running: "wait", answered: "rerun" },
      });
      const asked = await say("one");
      const running = await claim();
      await edit(asked, "two");
      await end(running, stopped ? { stopped: true } : {});
      expect(await states()).toEqual(["consumed", stopped ? "withdrawn" : "waiting"]);
      if (stopped) continue;
      const again = await claim();
      expect(again.messages.map(({ event }) => event.type)).toEqual(["edited"]);
      expect(again.thread).toBe(running.thread);
    }
  });

  it("is forgotten where nobody has spoken to the agent for long", async () => {
    const database = await open();
    const { say, states, clock } = await setUp(database);
    await say("one", { addressed: false });
    await clock.advance(1_000);
    await say("two", { addressed: false });
    expect(await prune(database, clock.now())).toBe(1);
    expect(await states()).toEqual(["aside"]);
  });

  it("is handed to one of two who take the message and its edit at once", async () => {
    const database = await open();
    const other = await open(database);
    const [one, two] = [await setUp(database), await setUp(other)];
    const asked = await one.say("one", { part: true });
    await one.clock.advance(1_000);
    const { id } = await database.db.selectFrom("chat").select("id").executeTakeFirstOrThrow();
    const by = { owner: "me", now: one.clock.now() + 20_000, until: Infinity, isOpen: () => true };
    const [claimed] = await Promise.all([
      claimTurn(other, id, { ...by, until: by.now + 1 }),
      two.edit(asked, "two"),
    ]);
    const [part] =
      claimed.kind === "turn" && claimed.turn.messages[0]?.event.type === "message"
        ? claimed.turn.messages[0].event.content
        : [];
    const rows = await database.db.selectFrom("inbox").select(["state", "type"]).orderBy("id").execute();
    // Either the turn has the new words, or they wait to be told: they are never lost.
    const inTurn = part?.type === "text" && part.text === "two";
    expect(rows[1]?.state).toBe(inTurn ? "consumed" : "aside");
  });
});
