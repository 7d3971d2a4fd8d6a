import { describe, expect, it } from "vitest";
import type { MembershipEvent, Place } from "../../src/core/events.ts";
import { onStore } from "../support/database.ts";
import { type Taking, takingIn } from "./set-up.ts";

const open = onStore();
const FORUM: Place = { chat: "g", kind: "group" };

function told(now: MembershipEvent["now"], id: string, place: Place = FORUM): MembershipEvent {
  return { type: "membership", id, place, sentAt: "2026-01-01T00:00:00.000Z", now };
}

async function states(taking: Taking): Promise<readonly string[]> {
  const rows = await taking.database.db
    .selectFrom("piece")
    .select(["to_topic", "state"])
    .orderBy("id")
    .execute();
  return rows.map(({ to_topic: topic, state }) => `${topic} ${state}`);
}

async function setUp(): Promise<Taking> {
  const taking = takingIn(await open());
  await taking.say("ada", "/help", { place: FORUM });
  await taking.say("ada", "/help", { place: { ...FORUM, topic: "7" } });
  await taking.say("ada", "/help", { place: { ...FORUM, chat: "other" } });
  taking.effects.length = 0;
  return taking;
}

describe("a chat that is closed to us", () => {
  it("keeps what is to be sent there, in all of its topics, until it is open again", async () => {
    const taking = await setUp();
    await taking.accept(told("gone", "m1"));
    expect(await states(taking)).toEqual([" parked", "7 parked", " planned"]);
    await taking.accept(told("here", "m2"));
    expect(await states(taking)).toEqual([" planned", "7 planned", " planned"]);
    expect(taking.effects).toEqual(["deliver 1", "deliver 2"]);
  });

  it("is not closed again by what is handed over again", async () => {
    const taking = await setUp();
    await taking.accept(told("gone", "m1"));
    await taking.accept(told("here", "m2"));
    await taking.accept(told("gone", "m1"));
    expect(await states(taking)).toEqual([" planned", "7 planned", " planned"]);
  });

  it("leaves what is being sent to whoever sends it", async () => {
    const taking = await setUp();
    await taking.database.db.updateTable("piece").set({ state: "sending" }).where("id", "=", 1).execute();
    await taking.accept(told("gone", "m1"));
    expect(await states(taking)).toEqual([" sending", "7 parked", " planned"]);
  });

  it("holds nothing back that goes to the id which it has now", async () => {
    const taking = await setUp();
    await taking.accept({ type: "chatMoved", id: "moved", from: "g", to: "g2" });
    await taking.accept(told("gone", "m1"));
    expect(await states(taking)).toEqual([" planned", "7 planned", " planned"]);
    await taking.accept(told("gone", "m2", { ...FORUM, chat: "g2" }));
    expect(await states(taking)).toEqual([" parked", "7 parked", " planned"]);
  });

  it("is no chat of ours where nobody has written", async () => {
    const taking = await setUp();
    await taking.accept(told("gone", "m1", { chat: "unknown", kind: "private" }));
    expect(await taking.database.db.selectFrom("chat").selectAll().execute()).toHaveLength(3);
  });
});
