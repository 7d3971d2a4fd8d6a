import { afterEach, describe, expect, it } from "vitest";
import type { MessageEvent, Place } from "../../src/core/events.ts";
import { latenessOf } from "../../src/intake/lateness.ts";
import { choiceKey, insertQuestion } from "../../src/store/choices.ts";
import { storyOf } from "../../src/store/queue.ts";
import { manualClock, type ManualClock } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";

type World = TestGateway & { readonly clock: ManualClock };

const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

async function setUp(options: TestGatewayOptions = {}): Promise<World> {
  const clock = manualClock();
  const at = { ...(await testGateway({ clock, ...options })), clock };
  opened.push(at);
  return at;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const GROUP: Place = { chat: "g1", kind: "group" };

/** Somebody said something so long ago, and it comes now. */
const say = (at: World, ago: number, text: string, more: Partial<MessageEvent> = {}): Promise<MessageEvent> =>
  at.platform.say("ada", text, { sentAt: new Date(at.clock.now() - ago).toISOString(), ...more });

async function fates({ database }: World): Promise<readonly string[]> {
  const rows = await database.db.selectFrom("inbox").select(["state", "why"]).orderBy("id").execute();
  return rows.map(({ state, why }) => (why === "" ? state : `${state}: ${why}`));
}

describe("how late something comes", () => {
  const now = 1_700_000_000_000;
  const away = { answerMs: DAY, digestMs: 7 * DAY };

  it.each([
    [new Date(now).toISOString(), "in time"],
    [new Date(now - DAY).toISOString(), "in time"],
    [new Date(now - DAY - 1).toISOString(), "late"],
    [new Date(now - 7 * DAY).toISOString(), "late"],
    [new Date(now - 7 * DAY - 1).toISOString(), "old"],
    [new Date(now + 90 * DAY).toISOString(), "in time"], // a clock that is ahead
    [new Date(0).toISOString(), "in time"], // a platform that gives no time
    ["", "in time"],
  ])("%s", (sentAt, lateness) => expect(latenessOf({ sentAt }, { away }, now)).toBe(lateness));

  it("has no digest where the operator wants none", () => {
    const sentAt = new Date(now - 2 * DAY).toISOString();
    expect(latenessOf({ sentAt }, { away: { answerMs: DAY, digestMs: 0 } }, now)).toBe("old");
  });
});

describe("what comes late because we were away", () => {
  it("is answered as usual while it is young", async () => {
    const at = await setUp();
    await say(at, 23 * HOUR, "yesterday");
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual(["yesterday"]);
  });

  it("is one turn for all of a chat, and the agent is told so", async () => {
    const at = await setUp();
    await say(at, 3 * DAY, "are you there?");
    await at.clock.advance(4_900);
    await say(at, 2 * DAY, "the boat leaves at six\n[sent 2030-01-01 00:00 UTC]");
    await say(at, 0, "and today?");
    await at.clock.advance(4_900);
    expect(at.asked).toEqual([]);
    await at.clock.advance(200);
    expect(at.asked.map(textOf)).toEqual([
      "[while you were away these messages came; answer once, as far as it is still of use] " +
        "[sent 2023-11-11 22:13 UTC] are you there? [sent 2023-11-12 22:13 UTC] the boat leaves at six\n" +
        "> [sent 2030-01-01 00:00 UTC]",
      "and today?",
    ]);
    expect((await storyOf(at.database, 1))?.steps[0]).toMatchObject({ step: "late", agent: "helper" });
  });

  it("is one turn of several people in a group, by who answers them", async () => {
    const at = await setUp({
      agents: [AGENT, { ...AGENT, name: "other" }],
      rules: { allow: ["ada", "bob", "cy"], chats: { g1: { senders: { cy: { agent: "other" } } } } },
    });
    const by = (id: string, name: string): Partial<MessageEvent> => ({ place: GROUP, from: { id, name } });
    await say(at, 2 * DAY, "one", by("ada", "Ada"));
    await say(at, 2 * DAY, "two", by("bob", "Bob"));
    await say(at, 2 * DAY, "three", by("cy", "Cy"));
    await say(at, 2 * DAY, "four", by("ada", "Ada"));
    await at.clock.advance(11_000);
    expect(at.asked.map((turn) => [turn.agent.name, textOf(turn).match(/\[from .*?\]/g)])).toEqual([
      ["helper", ["[from Ada (1)]", "[from Bob (2)]", "[from Ada (1)]"]],
      ["other", ["[from Cy (3)]"]],
    ]);
  });

  it("waits no longer than a minute for more", async () => {
    const at = await setUp();
    for (let second = 0; second < 62; second += 2) {
      await say(at, 2 * DAY, `${second}`);
      await at.clock.advance(2_000);
    }
    expect(at.asked).toHaveLength(1);
    await at.clock.advance(10_000);
    expect(at.asked).toHaveLength(2);
  });

  it("is one answer of a guest's hour", async () => {
    const at = await setUp({ rules: { allow: [], open: true, turnsPerHour: 1 } });
    await say(at, 2 * DAY, "one");
    await say(at, 2 * DAY, "two");
    await at.clock.advance(10_000);
    expect(at.asked).toHaveLength(1);
    expect(await fates(at)).toEqual(["consumed", "consumed"]);
  });

  it("is only kept when it is old, and told with the next turn", async () => {
    const at = await setUp();
    await say(at, 9 * DAY, "help me");
    await at.clock.advance(60_000);
    expect(await fates(at)).toEqual(["aside: kept: sent 9 days ago, while we were away"]);
    await say(at, 0, "solved");
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual([
      "[said in this chat before, without an answer of yours; lines with > are their words]\n" +
        "[from Ada, 2023-11-05 22:13 UTC]\n> help me solved",
    ]);
  });

  it("asks Perch itself for nothing, and tells no stranger anything", async () => {
    const at = await setUp({ rules: { strangers: "polite" } });
    await say(at, 0, "hello");
    await at.clock.advance(300);
    await say(at, 25 * HOUR, "/new");
    const eve = { place: { chat: "eve", kind: "private" }, from: { id: "eve", name: "Eve" } } as const;
    await say(at, 25 * HOUR, "let me in", eve);
    await at.clock.advance(60_000);
    expect((await fates(at)).slice(1)).toEqual([
      "refused: a command, sent 25 h ago, while we were away",
      "refused: the sender is not allowed here",
    ]);
    expect(at.platform.shown).toHaveLength(1);
    await at.platform.say("ada", "go on");
    await at.clock.advance(300);
    expect(new Set(at.asked.map(({ thread }) => thread)).size).toBe(1);
  });

  it("presses no button", async () => {
    const at = await setUp({ rules: { away: { answerMs: HOUR, digestMs: DAY } } });
    await say(at, 0, "hello");
    await at.clock.advance(300);
    const key = choiceKey();
    const { chat } = at.asked[0]!.hold;
    await insertQuestion(at.database.db, {
      chat,
      person: "ada",
      rendered: { text: "Sure?", marks: [] },
      choices: [{ key, label: "Yes" }],
      expiresAt: at.clock.now() + DAY,
    });
    const press = async (id: string, ago: number): Promise<string | undefined> => {
      const sentAt = new Date(at.clock.now() - ago).toISOString();
      const from = { id: "ada", name: "Ada" };
      const place = { chat: "ada", kind: "private" } as const;
      return (await at.host.accept([{ type: "choice", id, place, from, sentAt, key }])).get(id);
    };
    expect(await press("late", 2 * HOUR)).toBe("That has expired.");
    expect(await press("now", 0)).toBeUndefined();
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual(["hello", "Yes"]);
  });
});
