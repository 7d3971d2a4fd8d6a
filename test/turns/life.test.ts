import { afterEach, describe, expect, it } from "vitest";
import type { Channel, Progress } from "../../src/core/channel.ts";
import { pause } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { ChatRules } from "../../src/core/rules.ts";
import { Life, liveIn } from "../../src/turns/life.ts";
import { manualClock } from "../support/clock.ts";
import {
  AGENT,
  OPEN_TO_ADA,
  testGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../support/gateway.ts";

const TO = { channel: "toy", chat: "c1" };

function setUp({ takesMs = 0, live }: { readonly takesMs?: number; readonly live?: "draft" | "edit" } = {}) {
  const clock = manualClock();
  const start = clock.now();
  const signs: { readonly at: number; readonly sign: string }[] = [];
  const given: Progress[] = [];
  const channel = {
    async progress(_to, progress) {
      given.push(progress);
      signs.push({
        at: clock.now() - start,
        sign: progress.kind === "draft" ? progress.text : progress.kind,
      });
      await pause(clock, takesMs);
    },
  } satisfies Partial<Channel> as unknown as Channel; // all that a life asks of it
  const life = new Life({ channel, to: TO, live, clock }, (text) => ({
    text: text.replace("![](a.png)", ""),
    tree: () => ({ blocks: [] }),
  }));
  return { clock, life, signs, given };
}

describe("signs of life", () => {
  it("say every four seconds that something goes on, and once that it is over", async () => {
    const { clock, life, signs } = setUp();
    life.begin();
    await clock.advance(9_000);
    life.end();
    life.end();
    life.draft("late");
    await clock.advance(60_000);
    expect(signs).toEqual([
      { at: 0, sign: "typing" },
      { at: 4_000, sign: "typing" },
      { at: 8_000, sign: "typing" },
      { at: 9_000, sign: "over" },
    ]);
  });

  it("show the newest text when the channel has time for it, and none of those between", async () => {
    const { clock, life, signs } = setUp({ takesMs: 1_000 });
    life.begin();
    for (let at = 1; at <= 30; at += 1) {
      await clock.advance(100);
      life.draft(`${at} words`);
    }
    await clock.advance(2_000);
    expect(signs).toEqual([
      { at: 0, sign: "typing" },
      { at: 1_120, sign: "11 words" },
      { at: 2_240, sign: "22 words" },
      { at: 3_360, sign: "30 words" },
    ]);
  });

  it("keep a pause where the channel needs none, however fast a model writes", async () => {
    const { clock, life, signs } = setUp();
    life.begin();
    await clock.advance(1_000);
    for (let at = 0; at < 1_000; at += 10) {
      await clock.advance(10);
      life.draft(`${at}`);
    }
    await clock.advance(1_000);
    expect(signs.length).toBeLessThanOrEqual(1 + 1 + Math.ceil(1_000 / 120));
    expect(signs.at(1)?.at).toBe(1_010);
    expect(signs.at(-1)?.sign).toBe("990");
  });

  it("go on while a text stands still", async () => {
    const { clock, life, signs } = setUp();
    life.begin();
    life.draft("one");
    await clock.advance(10_000);
    expect(signs.map(({ sign }) => sign)).toEqual(["typing", "one", "typing", "typing"]);
  });

  it("say that something goes on where nothing of a text can be shown yet", async () => {
    const { clock, life, signs } = setUp();
    life.begin();
    life.draft("![](a.png)");
    await clock.advance(1_000);
    expect(signs.map(({ sign }) => sign)).toEqual(["typing", "typing"]);
  });

  it.each(["draft", "edit", undefined] as const)("are shown as the operator wants: %s", async (live) => {
    const { clock, life, given } = setUp(live === undefined ? {} : { live });
    life.begin();
    life.draft("one");
    await clock.advance(1_000);
    expect(given[1]).toEqual({
      kind: "draft",
      text: "one",
      tree: expect.any(Function),
      ...(live === undefined ? {} : { live }),
    });
  });
});

describe("how the operator wants answers shown that are being written", () => {
  const chats: Readonly<Record<string, ChatRules>> = { c1: { live: "edit" }, c2: {} };
  it.each([
    [{ chats, live: "off" }, "c1", "edit"],
    [{ chats, live: "off" }, "c2", "off"],
    [{ chats, live: "draft" }, "c3", "draft"],
    [{ chats, live: "draft" }, "constructor", "draft"],
    [{ chats }, "c2", undefined],
  ] as const)("%j, in %s: %s", (rules, chat, live) => {
    expect(liveIn({ ...OPEN_TO_ADA, ...rules }, chat)).toBe(live);
  });

  it("is not known of a connection that is none", () => {
    expect(liveIn(undefined, "c1")).toBeUndefined();
  });
});

describe("a turn", () => {
  const opened: TestGateway[] = [];
  afterEach(async () => {
    for (const gateway of opened.splice(0)) await gateway.close();
  });

  const run = async (options: TestGatewayOptions) => {
    const clock = manualClock();
    const gateway = await testGateway({ clock, ...options });
    opened.push(gateway);
    await gateway.platform.say("c1", "hello", { whole: true });
    await clock.advance(0);
    return { ...gateway, clock };
  };
  const signsOf = ({ platform }: TestGateway): readonly string[] =>
    platform.progress.map(({ progress }) => progress.kind);

  const ends: readonly (readonly [string, NonNullable<TestGatewayOptions["answer"]>])[] = [
    ["is answered", () => "done"],
    ["fails", () => Promise.reject(new GatewayError("model.failed", "it is down"))],
    [
      "fails before it has begun",
      () => {
        throw new Error("at once");
      },
    ],
  ];

  it.each(ends)("that %s is over once", async (_name, answer) => {
    const gateway = await run({ answer });
    await gateway.clock.advance(60_000);
    expect(signsOf(gateway).filter((kind) => kind === "over")).toHaveLength(1);
    expect(signsOf(gateway).at(-1)).toBe("over");
  });

  it("that a person stops is over once, and one that takes too long", async () => {
    const agents = [{ ...AGENT, limits: { ...AGENT.limits, turnSeconds: 60 } }];
    const gateway = await run({ agents, answer: () => new Promise<string>(() => {}) });
    await gateway.platform.say("c1", "/stop", { whole: true });
    await gateway.clock.advance(0);
    expect(signsOf(gateway)).toEqual(["typing", "over"]);
    await gateway.platform.say("c1", "again", { whole: true });
    await gateway.clock.advance(120_000);
    expect(signsOf(gateway).filter((kind) => kind === "over")).toHaveLength(2);
    expect(signsOf(gateway).at(-1)).toBe("over");
  });

  it.each([
    ["off", ["typing", "over"]],
    ["edit", ["typing", "draft", "over"]],
  ] as const)("shows of what is being written what the operator wants: %s", async (live, kinds) => {
    let end = (): void => {};
    const gateway = await run({
      rules: { live },
      answer: async (turn) => {
        turn.onText?.("so far");
        await new Promise<void>((resolve) => (end = resolve));
        return "done";
      },
    });
    await gateway.clock.advance(200);
    end();
    await gateway.clock.advance(0);
    expect(signsOf(gateway)).toEqual(kinds);
    expect(gateway.asked[0]?.onText === undefined).toBe(live === "off");
  });
});
