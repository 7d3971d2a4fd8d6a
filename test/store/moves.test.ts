import { expect, it } from "vitest";
import type { ChatMovedEvent, Place } from "../../src/core/events.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { insertQuestion } from "../../src/store/choices.ts";
import type { Database } from "../../src/store/database.ts";
import { otherIds } from "../../src/store/moves.ts";
import { allGrants, grant } from "../../src/store/people.ts";
import { claimTurn, commitTurn } from "../../src/store/turns.ts";
import { eachDatabase } from "../support/database.ts";
import { type Taking, takingIn } from "../intake/set-up.ts";

const MOVED: ChatMovedEvent = { type: "chatMoved", id: "moved/-5/-1005", from: "-5", to: "-1005" };
const OLD: Place = { chat: "-5", kind: "group" };
const NEW: Place = { chat: "-1005", kind: "group" };
const RULES = { chats: { "-5": { when: "all" as const } } };

/** Answers everything that waits in a chat: its texts, by turn, and where the answers go. */
async function answered({ database, clock }: Taking, chat: number): Promise<readonly string[]> {
  const turns: string[] = [];
  for (;;) {
    const claim = await claimTurn(database, chat as ChatId, {
      owner: "test",
      now: clock.now(),
      until: clock.now() + 1_000,
      isOpen: () => true,
    });
    if (claim.kind !== "turn") return turns;
    const { turn } = claim;
    const texts = turn.messages.map(({ event }) => JSON.stringify("content" in event && event.content[0]));
    turns.push(
      `${turn.thread} to ${turn.to.chat}: ${texts.map((text) => /"text":"(.*?)"/.exec(text)?.[1]).join("+")}`,
    );
    const body = { kind: "text", rendered: { text: "an answer", marks: [] } } as const;
    await commitTurn(database, turn, {
      state: "done",
      messages: "consumed",
      error: "",
      pieces: [{ chat: turn.hold.chat, to: turn.to, turn: turn.id, seq: 0, body }],
      now: clock.now(),
    });
  }
}

async function addresses({ db }: Database): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("address")
    .selectAll()
    .orderBy("chat_id")
    .orderBy("chat")
    .orderBy("topic")
    .execute();
  return rows.map(({ chat, topic, chat_id: id }) => `${chat}${topic === "" ? "" : `/${topic}`} is ${id}`);
}

eachDatabase("a chat that moves", (open) => {
  it("goes on in one thread under its new id, with nothing twice", async () => {
    const taking = takingIn(await open(), RULES);
    await taking.say("ada", "before", { place: OLD });
    expect(await answered(taking, 1)).toEqual(["1/helper/1 to -5: before"]);
    await taking.say("ada", "while it moved", { place: OLD, id: "w", ref: "7" });
    for (let time = 0; time < 2; time += 1) await taking.accept(MOVED);
    await taking.say("ada", "while it moved", { place: OLD, id: "w", ref: "7" });
    await taking.say("ada", "after", { place: NEW });
    expect(await addresses(taking.database)).toEqual(["-1005 is 1", "-5 is 1"]);
    expect(await answered(taking, 1)).toEqual([
      "1/helper/1 to -1005: while it moved",
      "1/helper/1 to -1005: after",
    ]);
  });

  it("takes over what has come under the new id before the move was told", async () => {
    const taking = takingIn(await open(), RULES);
    const { database } = taking;
    await taking.say("ada", "/new", { place: OLD });
    await taking.say("ada", "before", { place: OLD });
    await taking.say("ada", "early", { place: NEW, id: "early", ref: "1" });
    await taking.say("ada", "early and answered", { place: { ...NEW, topic: "9" } });
    await database.db.transaction().execute((trx) =>
      insertQuestion(trx, {
        chat: 2 as ChatId,
        person: "ada",
        rendered: { text: "Tea?", marks: [] },
        choices: [{ key: "KKKKKKKK", label: "Tea" }],
        expiresAt: taking.clock.now() + 1_000,
      }),
    );
    await database.db
      .insertInto("sent")
      .values({ channel: "toy", chat: "-1005", ref: "3", chat_id: 2 as ChatId, piece_id: 1, at: 0 })
      .execute();
    await taking.accept(MOVED);
    await taking.say("ada", "early", { place: NEW, id: "early", ref: "1" });
    expect(await addresses(database)).toEqual(["-1005 is 1", "-5 is 1", "-1005/9 is 3"]);
    expect(await database.db.selectFrom("sent").select(["chat", "chat_id"]).execute()).toEqual([
      { chat: "-1005", chat_id: 1 },
    ]);
    expect(await taking.press("ada", "KKKKKKKK", { place: NEW })).toBeUndefined();
    expect(await answered(taking, 1)).toEqual([
      "1/helper/2 to -1005: before",
      "1/helper/2 to -1005: early",
      "1/helper/2 to -1005: Tea",
    ]);
    expect(await answered(taking, 2)).toEqual([]);
    expect(await answered(taking, 3)).toEqual(["3/helper/1 to -1005: early and answered"]);
  });

  it("sends what is planned to the new id, and answers no message there that has only the number of an old one", async () => {
    const taking = takingIn(await open(), RULES);
    const { database } = taking;
    await taking.say("ada", "/status", { place: OLD });
    await taking.say("ada", "/status", { place: OLD });
    await database.db
      .updateTable("piece")
      .set({ reply_to: "7", replaces: "6" })
      .where("id", "=", 1)
      .execute();
    await database.db.updateTable("piece").set({ state: "sent" }).where("id", "=", 2).execute();
    await taking.accept(MOVED);
    // A send that was on its way has found the old id closed, and tells of it again.
    await database.db
      .updateTable("piece")
      .set({ to_chat: "-5", state: "sending" })
      .where("id", "=", 1)
      .execute();
    await taking.accept(MOVED);
    const pieces = await database.db
      .selectFrom("piece")
      .select(["to_chat", "reply_to", "replaces", "state"])
      .orderBy("id")
      .execute();
    expect(pieces).toEqual([
      { to_chat: "-1005", reply_to: "", replaces: "", state: "sending" },
      { to_chat: "-5", reply_to: "e2", replaces: "", state: "sent" },
    ]);
    const refs = await database.db.selectFrom("inbox").select("ref").execute();
    expect(new Set(refs.map(({ ref }) => ref))).toEqual(new Set([""]));
  });

  it("leaves what is being sent, or is about to be, to the chat that sends it, and takes over what is held back", async () => {
    const taking = takingIn(await open(), RULES);
    const { database } = taking;
    await taking.say("ada", "hello", { place: OLD });
    for (const [n, state] of (["planned", "sending", "sent", "parked"] as const).entries()) {
      await taking.say("ada", "/help", { place: NEW });
      await database.db
        .updateTable("piece")
        .set({ state })
        .where("id", "=", n + 1)
        .execute();
    }
    await taking.accept(MOVED);
    const pieces = await database.db.selectFrom("piece").select(["chat_id", "state"]).orderBy("id").execute();
    expect(pieces.map(({ chat_id: chat, state }) => `${state} in ${chat}`).toSorted()).toEqual([
      "planned in 1",
      "planned in 2",
      "sending in 2",
      "sent in 1",
    ]);
    expect(taking.effects).toEqual(expect.arrayContaining(["deliver 1", "deliver 2", "turn 1"]));
  });

  it("takes over every id of a chat that has several, and knows what comes again under each", async () => {
    const taking = takingIn(await open(), RULES);
    const other: Place = { chat: "-6", kind: "group" };
    const two = { place: other, id: "two", ref: "2" };
    await taking.say("ada", "one", { place: OLD });
    await taking.say("ada", "two", two);
    for (let time = 0; time < 2; time += 1) {
      await taking.accept({ ...MOVED, id: "m2", from: "-6" });
      await taking.accept(MOVED);
      await taking.say("ada", "two", two);
    }
    expect(await addresses(taking.database)).toEqual(["-1005 is 1", "-5 is 1", "-6 is 1"]);
    expect(await taking.fates()).toEqual(["waiting", "waiting"]);
  });

  it("takes over what was handed over under both ids, and a pause of either", async () => {
    const taking = takingIn(await open(), RULES);
    const said = { id: "A1", ref: "A1", unique: true } as const;
    await taking.say("ada", "the same", { place: OLD, ...said });
    await taking.say("ada", "the same", { place: NEW, ...said });
    const { db } = taking.database;
    await db
      .updateTable("chat")
      .set({ paused_until: 77 })
      .where("id", "=", 2 as ChatId)
      .execute();
    await taking.accept(MOVED);
    await taking.say("ada", "the same", { place: NEW, ...said });
    const { id, paused_until: until } = await db
      .selectFrom("address")
      .innerJoin("chat", "chat.id", "address.chat_id")
      .select(["chat.id", "chat.paused_until"])
      .where("address.chat", "=", "-1005")
      .executeTakeFirstOrThrow();
    expect(until).toBe(77);
    const rows = await db.selectFrom("inbox").select(["event_key", "chat_id"]).orderBy("id").execute();
    expect(rows).toEqual([
      { event_key: "A1", chat_id: id },
      { event_key: "A1 2", chat_id: id },
    ]);
  });

  it("takes along what was granted to the person it is called after, who may have had both ids", async () => {
    const taking = takingIn(await open(), RULES);
    const { database } = taking;
    const given = { channel: "toy", grantedBy: "", at: 5 } as const;
    await grant(database.db, { ...given, person: "+1", role: "owner" });
    await grant(database.db, { ...given, person: "lid:1", role: "stranger" });
    await grant(database.db, { ...given, person: "+2", role: "allowed" });
    for (const n of [1, 2, 3])
      await taking.accept({ type: "chatMoved", id: `moved/${n}`, from: `+${n}`, to: `lid:${n}` });
    const grants = await allGrants(database);
    expect(grants.map(({ person, role }) => `${person} ${role}`).toSorted()).toEqual([
      "lid:1 owner",
      "lid:2 allowed",
    ]);
  });

  it("keeps each topic, and is remembered where nobody has spoken yet", async () => {
    const taking = takingIn(await open(), RULES);
    await taking.say("ada", "hello", { place: { ...OLD, topic: "7" } });
    await taking.accept(MOVED);
    await taking.accept({ ...MOVED, id: "m2", from: "-6", to: "-1006" });
    expect(await addresses(taking.database)).toEqual(["-1005/7 is 1", "-5/7 is 1", "-1006 is 2", "-6 is 2"]);
    expect(await otherIds(taking.database.db, "toy", "-1005")).toEqual(["-5"]);
  });

  it("keeps its rules under each of its ids, in every topic, and tells the operator once", async () => {
    const taking = takingIn(await open(), RULES);
    const unaddressed = { addressed: false };
    await taking.accept(MOVED);
    await taking.accept(MOVED);
    await taking.say("ada", "one", { place: NEW, ...unaddressed });
    await taking.say("ada", "two", { place: { ...NEW, topic: "9" }, ...unaddressed });
    taking.rules({ toy: { chats: { "-1005": { when: "all" } } } });
    await taking.say("ada", "three", { place: OLD, ...unaddressed });
    taking.rules({ toy: { chats: { "-1005": { when: "none" }, "-5": { when: "all" } } } });
    await taking.say("ada", "four", { place: NEW, ...unaddressed });
    await taking.say("ada", "five", { place: { chat: "-7", kind: "group" }, ...unaddressed });
    expect(await taking.fates()).toEqual([
      "waiting",
      "waiting",
      "waiting",
      "refused: the chat is set to none",
      "refused: not addressed",
    ]);
    expect(taking.logged.filter(({ level }) => level === "warn")).toEqual([
      {
        level: "warn",
        fields: { channel: "toy", chat: 1 },
        sentence:
          "a chat has another id now; its rules go on to hold, but write the new id into perch.yaml: /status tells it to the owner there",
      },
    ]);
  });
});
