import { describe, expect, it } from "vitest";
import type { MessageEvent, Place } from "../../src/core/events.ts";
import { storyOf } from "../../src/store/queue.ts";
import { AGENT, OPEN_TO_ADA, type TestGateway, type TestGatewayOptions } from "../support/gateway.ts";
import { type Held, heldTurns } from "./held-turns.ts";

/** With a turn of Ada's that runs in the chat "c1". */
async function withTurn(options: TestGatewayOptions = {}): Promise<Held> {
  const running = await heldTurns(options);
  await running.platform.say("c1", "one");
  await running.clock.advance(300);
  expect(running.heard()).toEqual(["one"]);
  return running;
}

/** The decisions of taking a message in. */
async function taken({ database }: TestGateway, id: number): Promise<unknown> {
  const story = await storyOf(database, id);
  const { joins, because, during } = story!.steps[0]!;
  return { joins, because, during };
}

const { gather: GATHER } = OPEN_TO_ADA;
const GROUP: Place = { chat: "c1", kind: "group" };
const BOB = { id: "bob", name: "Bob" };

describe("a message that comes while a turn runs", () => {
  it("complaint 15: neither ends the turn nor is lost: both are answered, in order", async () => {
    const running = await withTurn();
    await running.platform.say("c1", "two");
    await running.clock.advance(1_000);
    expect(running.heard()).toEqual(["one"]);
    await running.answer();
    await running.answer();
    expect(running.platform.textsIn("c1")).toEqual(["heard: one", "heard: two"]);
  });

  it("complaint 21: is not refused as busy: it waits, two seconds after the first", async () => {
    const running = await withTurn();
    await running.clock.advance(2_000);
    await running.platform.say("c1", "and also…");
    await running.clock.advance(1_000);
    await running.answer();
    await running.answer();
    expect(running.platform.textsIn("c1")).toEqual(["heard: one", "heard: and also…"]);
  });

  it("says in its trace what becomes of it, and nothing of that where no turn ran", async () => {
    const running = await withTurn();
    await running.platform.say("c1", "two");
    expect(await taken(running, 1)).toEqual({ joins: "nothing", because: "nothing open", during: "" });
    expect(await taken(running, 2)).toEqual({ joins: "nothing", because: "nothing open", during: "steer" });
  });

  it("comes while a turn runs, too, where the oldest is due and waits for its media alone", async () => {
    const running = await heldTurns();
    let arrive = (): void => {};
    const gate = new Promise<void>((resolve) => (arrive = resolve));
    running.platform.files.set("slow", async function* () {
      await gate;
      yield new TextEncoder().encode("notes");
    });
    const file: MessageEvent["content"] = [
      { type: "unfetched", kind: "file", ref: "slow", declared: { filename: "a.txt" } },
    ];
    await running.platform.say("c1", file);
    await running.clock.advance(3_000);
    await running.platform.say("c1", "what is in it?");
    expect(await taken(running, 2)).toEqual({ joins: "nothing", because: "window closed", during: "steer" });
    arrive();
  });

  it("waits for a turn of its own where a graph of the operator's runs, which has no place for it", async () => {
    const running = await withTurn({ agents: [{ ...AGENT, graph: "./graph.js" }] });
    await running.platform.say("c1", "two");
    expect(await taken(running, 2)).toMatchObject({ during: "queue" });
  });

  it("is one with what follows it in its window", async () => {
    const running = await withTurn({ rules: { during: "queue" } });
    await running.platform.say("c1", "two");
    await running.clock.advance(200);
    await running.platform.say("c1", "and three");
    await running.clock.advance(5_000);
    expect(await taken(running, 3)).toEqual({ joins: 2, because: "window of text", during: "queue" });
    await running.answer();
    expect(running.heard()).toEqual(["one", "two and three"]);
  });
});

describe("collect", () => {
  it("answers whatever a person says meanwhile at once, and each person for themselves", async () => {
    const running = await withTurn({ rules: { during: "collect" } });
    await running.platform.say("c1", "two");
    await running.clock.advance(5_000);
    await running.platform.say("c1", "from Bob", { from: BOB });
    await running.clock.advance(5_000);
    await running.platform.say("c1", "three");
    await running.clock.advance(5_000);
    expect(await taken(running, 4)).toEqual({ joins: 2, because: "collect", during: "collect" });
    await running.answer();
    await running.answer();
    await running.answer();
    expect(running.heard()).toEqual(["one", "two three", "from Bob"]);
  });

  it("does not cut off the window of what was said last", async () => {
    const running = await withTurn({ rules: { during: "collect" } });
    await running.platform.say("c1", "two");
    await running.clock.advance(20_000);
    await running.platform.say("c1", "three");
    await running.clock.advance(100);
    await running.answer(100);
    expect(running.heard()).toEqual(["one"]);
    await running.platform.say("c1", "four");
    await running.clock.advance(300);
    expect(running.heard()).toEqual(["one", "two three four"]);
  });

  it("keeps to the bounds of an intent", async () => {
    const rules = { during: "collect" as const, gather: { ...GATHER, messages: 2 } };
    const running = await withTurn({ rules });
    for (const text of ["two", "three", "four"]) await running.platform.say("c1", text);
    expect(await taken(running, 4)).toEqual({ joins: "nothing", because: "2 messages", during: "collect" });
  });

  it("is over with the turn: what is said afterwards has a turn of its own", async () => {
    const running = await withTurn({ rules: { during: "collect" } });
    await running.answer();
    await running.platform.say("c1", "two");
    expect(await taken(running, 2)).toMatchObject({ during: "" });
  });
});

describe("interrupt", () => {
  it("ends the running turn, and is answered next", async () => {
    const running = await withTurn({ rules: { during: "interrupt" } });
    await running.platform.say("c1", "no, rather two");
    await running.clock.advance(5_000);
    expect(await taken(running, 2)).toEqual({
      joins: "nothing",
      because: "nothing open",
      during: "interrupt",
    });
    expect(running.heard()).toHaveLength(2);
    expect(running.heard()[1]).toContain("no, rather two");
  });
});

describe("what the operator has written", () => {
  it("holds for the chat before the connection, key by key", async () => {
    const chats = { c1: { during: "queue" as const, gather: { textMs: 2_000 } } };
    const running = await heldTurns({ rules: { during: "collect", chats } });
    await running.platform.say("c1", "one");
    await running.clock.advance(1_999);
    expect(running.heard()).toEqual([]);
    await running.clock.advance(1);
    await running.platform.say("c1", "two");
    await running.platform.say("c2", "elsewhere");
    await running.clock.advance(300);
    await running.platform.say("c2", "there, too");
    expect(running.heard()).toEqual(["one", "elsewhere"]);
    expect(await taken(running, 2)).toMatchObject({ during: "queue" });
    expect(await taken(running, 4)).toMatchObject({ during: "collect" });
  });
});

describe("a full queue", () => {
  const rules = { during: "queue" as const, queueLimit: 2, waitingSign: "off" as const };

  async function full(more: TestGatewayOptions["rules"] = {}): Promise<Held> {
    const running = await withTurn({ rules: { ...rules, ...more } });
    for (const text of ["two", "three"]) {
      await running.platform.say("c1", text);
      await running.clock.advance(1_000);
    }
    return running;
  }

  it("has what comes then join what its person said last, and says so once until it is shorter", async () => {
    const running = await full();
    const joining = await running.platform.say("c1", "four");
    await running.clock.advance(1_000);
    await running.platform.say("c1", "five");
    await running.clock.advance(1_000);
    expect(await taken(running, 4)).toEqual({ joins: 3, because: "2 intents wait", during: "queue" });
    expect(running.platform.shown.map(({ text, replyTo }) => [text, replyTo])).toEqual([
      [expect.stringMatching(/^A lot waits here already \(2\)/), joining.ref],
    ]);
    await running.answer();
    await running.answer();
    await running.platform.say("c1", "six");
    await running.clock.advance(1_000);
    await running.platform.say("c1", "seven");
    await running.clock.advance(1_000);
    await running.platform.say("c1", "eight");
    await running.clock.advance(1_000);
    expect(running.platform.textsIn("c1").filter((text) => text.startsWith("A lot waits"))).toHaveLength(2);
    for (let n = 0; n < 4; n += 1) await running.answer();
    expect(running.heard()).toEqual(["one", "two", "three four five", "six", "seven eight"]);
  });

  it("refuses each message of who has nothing to join, as an answer to that one, and loses nothing else", async () => {
    const running = await full();
    const first = await running.platform.say("c1", "from Bob", { from: BOB });
    await running.platform.repeat();
    const second = await running.platform.say("c1", "again from Bob", { from: BOB });
    await running.clock.advance(1_000);
    const words = "Too much waits here (2), so I have not taken this message. Please send it again later.";
    expect(running.platform.shown.map(({ text, replyTo }) => [text, replyTo])).toEqual([
      [words, first.ref],
      [words, second.ref],
    ]);
    const story = await storyOf(running.database, 4);
    expect([story?.state, story?.why]).toEqual(["refused", "2 intents wait"]);
    for (let n = 0; n < 3; n += 1) await running.answer();
    await running.platform.say("c1", "from Bob", { from: BOB });
    await running.clock.advance(1_000);
    expect(running.heard()).toEqual(["one", "two", "three", "from Bob"]);
  });

  it("refuses what is too much for what waits", async () => {
    const running = await full({ gather: { ...GATHER, messages: 1 } });
    await running.platform.say("c1", "four");
    await running.clock.advance(1_000);
    expect(running.platform.textsIn("c1")).toEqual([expect.stringMatching(/^Too much waits here/)]);
  });

  it("keeps a reaction that would begin a turn as a note, which is told with the next", async () => {
    const running = await heldTurns({ rules: { ...rules, queueLimit: 1, reactions: "turn" } });
    await running.platform.say("c1", "one");
    await running.clock.advance(300);
    await running.answer();
    for (const text of ["two", "three"]) {
      await running.platform.say("c1", text);
      await running.clock.advance(1_000);
    }
    const place: Place = { chat: "c1", kind: "private" };
    await running.platform.react(place, running.platform.refOf("heard: one"), { added: ["👍"] });
    await running.clock.advance(1_000);
    expect((await storyOf(running.database, 4))?.state).toBe("aside");
  });

  it("counts no commands, and answers them", async () => {
    const running = await withTurn({ rules });
    await running.platform.say("c1", "/compact");
    await running.platform.say("c1", "two");
    await running.clock.advance(1_000);
    await running.platform.say("c1", "three");
    await running.clock.advance(1_000);
    await running.platform.say("c1", "/model");
    await running.clock.advance(1_000);
    expect(running.platform.textsIn("c1")).toEqual([expect.stringMatching(/^helper answers here/)]);
    expect(await taken(running, 4)).toMatchObject({ joins: "nothing" });
  });
});

describe("a wish for what becomes of messages meanwhile", () => {
  it("goes before the rules, and can be taken back", async () => {
    const running = await withTurn({ rules: { during: "queue" } });
    const { platform, clock } = running;
    await platform.say("c1", "/queue collect");
    await platform.say("c1", "two");
    await clock.advance(1_000);
    expect(await taken(running, 3)).toMatchObject({ during: "collect" });
    expect(platform.textsIn("c1")).toEqual([
      "From now on here, while I work, messages wait, and what each person says is answered at once (collect).",
    ]);
    await platform.say("c1", "/queue default");
    await platform.say("c1", "/queue sometimes");
    await clock.advance(1_000);
    expect(platform.textsIn("c1").slice(1)).toEqual([
      "From now on here, while I work, messages wait, each for its own answer (queue).",
      expect.stringMatching(/^Send \/queue and one of: steer/),
    ]);
  });

  it("is the owner's in a group; what waits everybody may ask for", async () => {
    const running = await heldTurns({ rules: { during: "queue", owner: "ada" } });
    const { platform, clock } = running;
    await platform.say("c1", "one", { place: GROUP });
    await clock.advance(300);
    await platform.say("c1", "two", { place: GROUP });
    await clock.advance(90_000);
    await platform.say("c1", "secret", { place: GROUP, from: { id: "bob", name: "B]ob\n" } });
    await platform.say("c1", "/queue interrupt", { place: GROUP, from: BOB });
    await platform.say("c1", "/queue", { place: GROUP, from: BOB });
    await platform.say("c1", "/queue steer", { place: GROUP });
    await clock.advance(0);
    expect(platform.textsIn("c1")).toEqual([
      "Only the owner can do that.",
      'While I work, messages wait, each for its own answer (queue).\nWaiting: 2\n- 2: "Ada", for 1 min\n- 3: "B ob", for 0 s',
      "From now on here, while I work, messages reach me at my next step (steer).",
    ]);
  });

  it("tells that nothing waits", async () => {
    const { platform, clock } = await heldTurns();
    await platform.say("c1", "/queue");
    await clock.advance(0);
    expect(platform.textsIn("c1")).toEqual([
      "While I work, messages reach me at my next step (steer).\nNothing waits.",
    ]);
  });
});
