import { afterEach, describe, expect, it } from "vitest";
import type { AgentAnswer, AgentDefinition, AgentTurn, Steered } from "../../src/core/agent.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { During } from "../../src/core/rules.ts";
import { manualClock, type ManualClock } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway, type TestGatewayOptions } from "../support/gateway.ts";

const opened: World[] = [];
afterEach(async () => {
  for (const world of opened.splice(0)) {
    // A stop waits for turns.
    const closing = world.close();
    for (const { answer } of world.runs) answer("over");
    await closing;
  }
});

/** A turn of the agent, which goes on as long as the test wants. */
type Run = {
  readonly turn: AgentTurn;
  readonly signal: AbortSignal;
  /** As before a step of its model. */
  readonly step: () => Promise<readonly string[]>;
  /** It answers, with all that it was shown so far or with these alone. */
  readonly answer: (text: string, more?: Partial<AgentAnswer>) => void;
  readonly fail: (error: Error) => void;
};

type World = TestGateway & {
  readonly clock: ManualClock;
  readonly runs: Run[];
  readonly say: TestGateway["platform"]["say"];
  /** What was said in each turn that was begun. */
  readonly begun: () => readonly string[];
};

async function setUp(
  during: During,
  { agent = AGENT, ...options }: TestGatewayOptions & { readonly agent?: AgentDefinition } = {},
): Promise<World> {
  const clock = manualClock();
  const runs: Run[] = [];
  const run = (turn: AgentTurn, signal: AbortSignal): Promise<AgentAnswer> =>
    new Promise((resolve, reject) => {
      const shown: string[] = [];
      const step = async (): Promise<readonly string[]> => {
        const steered = (await turn.steered?.()) ?? [];
        shown.push(...steered.map(({ id }) => id));
        return steered.map(textOf);
      };
      const answer: Run["answer"] = (markdown, more = {}) => {
        const steered = shown.length === 0 ? {} : { steered: shown };
        resolve({ markdown, replayed: false, refused: [], ...steered, ...more });
      };
      runs.push({ turn, signal, step, answer, fail: reject });
    });
  const runner = () => ({ prepare: () => {}, senses: async () => NO_SENSES, run });
  const gateway = await testGateway({
    clock,
    agents: [agent],
    runner,
    ...options,
    rules: { during, ...options.rules },
  });
  const say: World["say"] = async (...said) => {
    const event = await gateway.platform.say(...said);
    await clock.advance(300);
    return event;
  };
  const world = { ...gateway, clock, runs, say, begun: () => runs.map(({ turn }) => textOf(turn)) };
  opened.push(world);
  return world;
}

const NO_SENSES = { images: false, pdf: false, audio: false };

function textOf({ content }: Pick<Steered, "content">): string {
  return content.map((block) => (block.type === "text" ? block.text : `<${block.type}>`)).join(" ");
}

/** What became of each message, by its text's order. */
async function states({ database }: TestGateway): Promise<readonly string[]> {
  const rows = await database.db
    .selectFrom("inbox")
    .select(["state", "claims"])
    .where("type", "=", "message")
    .orderBy("id")
    .execute();
  return rows.map(({ state, claims }) => `${state} ${claims}`);
}

describe("a message that is steered into a turn", () => {
  it("is shown before the agent's next step, is answered with the turn, and is marked as taken up", async () => {
    const world = await setUp("steer");
    const { say, runs, platform, clock, begun } = world;
    await say("ada", "A");
    await say("ada", "B");
    expect(platform.taken).toEqual([{ chat: "ada", refs: ["m1"] }]);
    expect(await runs[0]?.step()).toEqual(["B"]);
    expect(platform.taken.at(-1)).toEqual({ chat: "ada", refs: ["m2"] });
    expect(platform.signs.size).toBe(0);
    runs[0]?.answer("to both");
    await clock.advance(1_000);
    expect(platform.textsIn("ada")).toEqual(["to both"]);
    expect([begun(), await states(world)]).toEqual([["A"], ["consumed 1", "consumed 1"]]);
  });

  it("is the next turn where it comes during the last step", async () => {
    const world = await setUp("steer");
    const { say, runs, platform, clock, begun } = world;
    await say("ada", "A");
    expect(await runs[0]?.step()).toEqual([]);
    await say("ada", "B");
    runs[0]?.answer("to A");
    await clock.advance(0);
    runs[1]?.answer("to B");
    await clock.advance(0);
    expect([begun(), platform.textsIn("ada")]).toEqual([
      ["A", "B"],
      ["to A", "to B"],
    ]);
  });

  it("is the next turn where the answer was not given with it", async () => {
    const world = await setUp("steer");
    const { say, runs, platform, clock, begun } = world;
    await say("ada", "A");
    await say("ada", "B");
    await runs[0]?.step();
    runs[0]?.answer("to A", { steered: [] });
    await clock.advance(0);
    runs[1]?.answer("to B");
    await clock.advance(0);
    expect([begun(), platform.textsIn("ada")]).toEqual([
      ["A", "B"],
      ["to A", "to B"],
    ]);
    expect(await states(world)).toEqual(["consumed 1", "consumed 1"]);
  });

  it("is the next turn where the model fails", async () => {
    const world = await setUp("steer");
    const { say, runs, platform, clock, begun } = world;
    await say("ada", "A");
    await say("ada", "B");
    await runs[0]?.step();
    runs[0]?.fail(new GatewayError("model.failed", "out of order"));
    await clock.advance(0);
    runs[1]?.answer("to B");
    await clock.advance(0);
    expect(begun()).toEqual(["A", "B"]);
    expect(platform.textsIn("ada")).toEqual([expect.stringContaining("model"), "to B"]);
  });

  it("ends with a turn that its person stops", async () => {
    const world = await setUp("steer");
    const { say, runs, platform, clock, begun } = world;
    await say("ada", "A");
    await say("ada", "B");
    await runs[0]?.step();
    await say("ada", "/stop");
    await clock.advance(10_000);
    expect([begun(), platform.textsIn("ada")]).toEqual([["A"], ["Stopped."]]);
    expect(await states(world)).toEqual(expect.arrayContaining(["consumed 1", "consumed 1"]));
  });

  it.each(["stopped", "too long"])("is not lost to a turn that asks for it while it is %s", async (why) => {
    const world = await setUp("steer", { agent: { ...AGENT, limits: { ...AGENT.limits, turnSeconds: 60 } } });
    const { say, runs, clock, begun } = world;
    await say("ada", "A");
    await say("ada", "B");
    const first = runs[0]!;
    const asked: Promise<unknown>[] = [first.step()];
    first.signal.addEventListener("abort", () => asked.push(first.step()));
    if (why === "stopped") await say("ada", "/stop");
    else await clock.advance(60_000);
    await clock.advance(1_000);
    asked.push(first.step());
    await Promise.allSettled(asked);
    // Whoever stops a turn stops all that waits.
    expect(begun()).toEqual(why === "stopped" ? ["A"] : ["A", "B"]);
    const [a, b] = await states(world);
    expect([a, b?.split(" ")[0]]).toEqual(["consumed 1", why === "stopped" ? "consumed" : "claimed"]);
  });

  it("is corrected like a message that the turn began with", async () => {
    const world = await setUp("steer", { rules: { edits: { running: "steer", answered: "note" } } });
    const { say, runs, platform, clock, begun } = world;
    await say("ada", "A");
    const event = await say("ada", "B");
    await runs[0]?.step();
    await platform.edit(event, "B at eight");
    const told = runs[0]?.turn.corrections?.() ?? [];
    expect(told).toEqual([
      { id: expect.stringMatching(/^edit-/), text: expect.stringContaining("B at eight") },
    ]);
    runs[0]?.answer("at eight", { corrected: told.map(({ id }) => id) });
    await clock.advance(0);
    await say("ada", "C");
    expect(begun()).toEqual(["A", "C"]);
  });

  it.each(["note", "rerun"] as const)(
    "is answered as it says by then where it was edited and the answer was not given with it (%s)",
    async (answered) => {
      const world = await setUp("steer", { rules: { edits: { running: "steer", answered } } });
      const { say, runs, platform, clock, begun } = world;
      await say("ada", "A");
      const event = await say("ada", "B");
      await runs[0]?.step();
      await platform.edit(event, "B at eight");
      await platform.edit(event, "B at nine");
      runs[0]?.answer("to A", { steered: [] });
      await clock.advance(2_000);
      await platform.edit(event, "B at ten");
      runs[1]?.answer("to B");
      await clock.advance(2_000);
      expect(begun().slice(0, 2)).toEqual(["A", "B at nine"]);
      if (answered === "rerun") return runs[2]?.answer("to B again");
      await say("ada", "C");
      expect(begun()[2]).toMatch(/^\[edited.*B at ten.*C$/s);
      expect(begun()[2]).not.toMatch(/eight|nine/);
    },
  );

  it("is not answered where it was taken back and the answer was not given with it", async () => {
    const world = await setUp("steer");
    const { say, runs, platform, clock, begun } = world;
    await say("ada", "A");
    const { place, ref } = await say("ada", "B");
    await runs[0]?.step();
    await platform.remove(place, ref);
    runs[0]?.answer("to A", { steered: [] });
    await clock.advance(2_000);
    await say("ada", "C");
    expect(begun()).toEqual(["A", "C"]);
  });

  it("is told of what it brings that is no use, as for any message", async () => {
    const { say, runs, platform, clock } = await setUp("steer");
    await say("ada", "A");
    await platform.say("ada", [
      { type: "text", text: "B" },
      { type: "unfetched", kind: "image", ref: "gone", declared: { label: "photo" } },
    ]);
    await clock.advance(1_500);
    await clock.whenTimer(2_000);
    expect(await runs[0]?.step()).toEqual([]); // it is tried once more
    await clock.advance(2_000);
    await until(async () => (await runs[0]?.step())?.[0]?.startsWith("B ") === true);
    runs[0]?.answer("to both");
    await clock.advance(0);
    expect(platform.textsIn("ada")).toEqual([expect.stringContaining("the download failed"), "to both"]);
  });

  it("counts for what is remembered, and for the language", async () => {
    const memory = { files: [], facts: true, quietSeconds: 60, mostSeconds: 600, mostFacts: 100 };
    const { say, runs, clock, database } = await setUp("steer", { agent: { ...AGENT, memory } });
    await say("ada", "hello there, how are you today?");
    await say("ada", "nein, das ist falsch, ich meinte das nicht so");
    await runs[0]?.step();
    runs[0]?.answer("gut");
    await clock.advance(0);
    const work = await database.db.selectFrom("memory_work").select(["touches", "correction"]).execute();
    expect(work).toEqual([{ touches: 1, correction: 1 }]);
  });

  it("names the newest message that it answers, and says who speaks, in a group", async () => {
    const { say, runs, platform, clock } = await setUp("steer");
    const place = { chat: "g1", kind: "group" } as const;
    await say("g1", "A", { place });
    await say("g1", "B", { place, from: { id: "bob", name: "Bob" } });
    expect(await runs[0]?.step()).toEqual(["[from Bob (2)] B"]);
    runs[0]?.answer("to both");
    await clock.advance(0);
    expect(platform.shown.map(({ text, replyTo }) => [text, replyTo])).toEqual([["to both", "m2"]]);
  });

  it("is not for an operator's graph", async () => {
    const { say, runs } = await setUp("steer", { agent: { ...AGENT, graph: "/graph.js" } });
    await say("ada", "A");
    expect(runs[0]?.turn).not.toHaveProperty("steered");
  });

  it("is not for a summary, and waits behind it", async () => {
    const asked: AgentTurn[] = [];
    const compact: NonNullable<TestGatewayOptions["desk"]>["compact"] = async (turn) => {
      asked.push(turn);
      return { done: false, now: { messages: 0, tokens: 0, estimated: true, window: 1 } };
    };
    const { say, runs, platform, clock, begun } = await setUp("steer", { desk: { compact } });
    await say("ada", "A");
    await say("ada", "/compact");
    await say("ada", "B");
    expect(await runs[0]?.step()).toEqual([]);
    runs[0]?.answer("to A");
    await clock.advance(1_000);
    runs[1]?.answer("to B");
    await clock.advance(1_000);
    expect(asked.map((turn) => turn.steered)).toEqual([undefined]);
    expect([begun(), platform.textsIn("ada").length]).toEqual([["A", "B"], 3]);
  });
});

describe("a turn that hangs until its time is over", () => {
  it.each(["steer", "queue"] as const)(
    "complaint 13: is told of, and what came meanwhile is answered (%s)",
    async (during) => {
      const world = await setUp(during, {
        agent: { ...AGENT, limits: { ...AGENT.limits, turnSeconds: 60 } },
      });
      const { say, runs, platform, clock, begun } = world;
      await say("ada", "A");
      await say("ada", "B");
      expect(await runs[0]?.step()).toEqual(during === "steer" ? ["B"] : []);
      await clock.advance(60_000);
      expect(begun()).toEqual(["A", "B"]);
      runs[1]?.answer("to B");
      await clock.advance(0);
      expect(platform.textsIn("ada")).toEqual([expect.stringContaining("longer than 1 min"), "to B"]);
      expect(await states(world)).toEqual(["consumed 1", "consumed 1"]);
    },
  );
});

describe("a message that waits while a turn runs", () => {
  it("has a turn of its own, each in its order, where it is queued", async () => {
    const { say, runs, platform, clock, begun } = await setUp("queue");
    for (const text of ["A", "B", "C"]) await say("ada", text);
    expect(await runs[0]?.step()).toEqual([]);
    for (const [at, text] of ["a", "b", "c"].entries()) {
      runs[at]?.answer(text);
      await clock.advance(300);
    }
    expect([begun(), platform.textsIn("ada")]).toEqual([
      ["A", "B", "C"],
      ["a", "b", "c"],
    ]);
  });

  it("has one turn with all that came, where that is collected", async () => {
    const { say, runs, clock, begun } = await setUp("collect");
    for (const text of ["A", "B", "C"]) await say("ada", text);
    runs[0]?.answer("a");
    await clock.advance(2_000);
    expect(begun()).toEqual(["A", "B C"]);
    runs[1]?.answer("b");
    await clock.advance(0);
  });
});

describe("a message that interrupts a turn", () => {
  it("is answered with it by the next, in order, and no crash is counted", async () => {
    const world = await setUp("interrupt");
    const { say, runs, platform, clock, begun, database } = world;
    await say("ada", "A");
    runs[0]?.turn.onText?.("half an ans");
    await say("ada", "B");
    expect(runs[0]?.signal.reason).toMatchObject({ code: "turn.interrupted" });
    expect(platform.progress.at(-1)?.progress.kind).not.toBe("draft");
    await say("ada", "C");
    expect([begun(), runs.map(({ turn }) => [turn.messageId, turn.messages])]).toEqual([
      ["A", "A B", "A B C"],
      [
        ["intent-1", undefined],
        ["intent-1", 2],
        ["intent-1", 3],
      ],
    ]);
    runs[2]?.answer("to all");
    await clock.advance(0);
    expect(platform.textsIn("ada")).toEqual(["to all"]);
    expect(await states(world)).toEqual(["consumed 1", "consumed 1", "consumed 1"]);
    const turns = await database.db.selectFrom("turn").select(["state", "error"]).orderBy("id").execute();
    expect(turns).toEqual([
      { state: "abandoned", error: "turn.interrupted" },
      { state: "abandoned", error: "turn.interrupted" },
      { state: "done", error: "" },
    ]);
  });

  it("leaves the agent told of what was corrected before", async () => {
    const { say, runs, platform, clock, begun } = await setUp("interrupt", {
      rules: { edits: { running: "steer", answered: "note" } },
    });
    const first = await say("ada", "A");
    await platform.edit(first, "A at eight");
    await say("ada", "B");
    const told = runs[1]?.turn.corrections?.() ?? [];
    expect(told.map(({ text }) => text)).toEqual([expect.stringContaining("A at eight")]);
    runs[1]?.answer("at eight", { corrected: told.map(({ id }) => id) });
    await clock.advance(0);
    await say("ada", "C");
    expect(begun()).toEqual(["A", "A B", "C"]);
  });

  it("does so before the agent's next step where nobody has said so at once", async () => {
    const { say, runs, clock, database, begun } = await setUp("steer");
    await say("ada", "A");
    await say("ada", "B");
    // As another process has taken it in.
    await database.db.updateTable("inbox").set({ during: "interrupt" }).where("ref", "=", "m2").execute();
    expect(await runs[0]?.step()).toEqual([]);
    await clock.advance(0);
    expect(runs[0]?.signal.reason).toMatchObject({ code: "turn.interrupted" });
    expect(begun()).toEqual(["A", "A B"]);
  });

  it("waits for its own turn where more than may be one would come together", async () => {
    const { say, runs, clock, begun } = await setUp("interrupt", {
      rules: { gather: { ...GATHER, messages: 2 } },
    });
    for (const text of ["A", "B", "C"]) await say("ada", text);
    expect(begun()).toEqual(["A", "A B"]);
    runs[1]?.answer("to both");
    await clock.advance(300);
    expect(begun()).toEqual(["A", "A B", "C"]);
    runs[2]?.answer("to C");
    await clock.advance(0);
  });

  it("is a turn like any where none runs any more", async () => {
    const { say, runs, platform, clock, begun } = await setUp("interrupt");
    await say("ada", "A");
    const late = platform.sayLate("ada", "B");
    const handed = late();
    runs[0]?.answer("to A");
    await handed;
    await clock.advance(1_000);
    runs[1]?.answer("to B");
    await clock.advance(0);
    expect(platform.textsIn("ada").at(-1)).toBe("to B");
    expect(begun().at(-1)).toContain("B");
  });
});

/** What is fetched takes real time. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

const GATHER = {
  textMs: 300,
  fragmentMs: 1_500,
  mediaMs: 1_500,
  albumMs: 1_000,
  forwardMs: 300,
  longestMs: 10_000,
  messages: 12,
  characters: 50_000,
};
