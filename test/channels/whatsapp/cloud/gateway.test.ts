import { afterEach, describe, expect, it } from "vitest";
import { openCloud } from "../../../../channels/whatsapp/cloud/open.ts";
import { webhookPath } from "../../../../channels/whatsapp/cloud/webhook.ts";
import { settings } from "../../../../channels/whatsapp/settings.ts";
import type { Channel } from "../../../../src/core/channel.ts";
import { startHttp } from "../../../../src/http/server.ts";
import { manualClock, type ManualClock } from "../../../support/clock.ts";
import { type TestGateway, type TestGatewayOptions, testGateway, textOf } from "../../../support/gateway.ts";
import { type GraphEmulator, startGraph } from "../../../support/graph/emulator.ts";
import type { GraphPerson } from "../../../support/graph/person.ts";
import { memoryLog } from "../../../support/channel-host.ts";
import { MIRA } from "./set-up.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type World = {
  readonly gateway: TestGateway;
  readonly graph: GraphEmulator;
  readonly mira: GraphPerson;
  readonly clock: ManualClock;
  readonly channel: Channel;
  /** What Mira has been sent, oldest first. */
  readonly shown: () => readonly string[];
  /** Moves on, a little at a time, until it holds. */
  pass(holds: () => boolean): Promise<void>;
};

/** All of Perch but its process, with a number of the Cloud API. */
async function setUp(options: Omit<TestGatewayOptions, "clock"> = {}): Promise<World> {
  const clock = manualClock();
  const graph = await startGraph({ clock });
  cleanups.push(() => graph.close());
  const gateway = await testGateway({ ...options, clock, rules: { allow: [`+${MIRA}`], ...options.rules } });
  cleanups.push(() => gateway.close());
  const http = await startHttp({
    host: "127.0.0.1",
    port: 0,
    log: memoryLog([]),
    health: () => ({ ok: true }),
  });
  cleanups.push(() => http.close());
  const given = settings.parse({ transport: "cloud", readReceipts: false, cloud: graph.settings });
  const channel = await openCloud(given, { ...gateway.host, http });
  cleanups.push(() => channel.close());
  await gateway.gateway.opened("toy", channel);
  await graph.hook.verify(http.origin + webhookPath("toy"), graph.verifyToken);
  const mira = graph.person({ phone: MIRA });
  return {
    gateway,
    graph,
    mira,
    clock,
    channel,
    shown: () => graph.taken.map(({ body }) => (body["text"] as { readonly body: string }).body),
    async pass(holds) {
      const endsAt = performance.now() + 4_000;
      while (!holds()) {
        if (performance.now() > endsAt) throw new Error("it did not come to that");
        await clock.advance(500);
      }
    },
  };
}

describe("Perch on the Cloud API", () => {
  it("answers each message once, however often and in whatever order webhooks tell of it", async () => {
    const { graph, mira, pass, shown, gateway } = await setUp();
    graph.tells = true;
    graph.hook.hold();
    mira.say("one");
    graph.hook.release((held) => [...held, ...held]);
    await pass(() => shown().length === 1);
    graph.hook.hold();
    mira.say("two");
    graph.hook.release((held) => [...held, ...held], 2);
    await pass(() => shown().length === 2 && graph.hook.isSettled());
    expect(shown()).toEqual(["heard: one", "heard: two"]);
    expect(gateway.asked.map(textOf)).toEqual(["one", "two"]);
  });

  it("keeps an answer that comes after the 24 hours until the person writes, and then sends both in order", async () => {
    let answer: (text: string) => void = () => {};
    const long = new Promise<string>((resolve) => (answer = resolve));
    let turns = 0;
    const { graph, mira, pass, shown, clock, gateway } = await setUp({
      answer: async (turn) => ((turns += 1) === 1 ? await long : `heard: ${textOf(turn)}`),
    });
    const wroteAt = clock.now() - 24 * 3_600_000 + 60_000;
    mira.say("Work on it.", { timestamp: String(wroteAt / 1_000) });
    mira.lastWroteAt = wroteAt;
    await pass(() => gateway.asked.length === 1);
    await clock.advance(5 * 60_000);
    answer("It is done.");
    await pass(() => gateway.logged.some(({ sentence }) => sentence.startsWith("the chat is closed to us")));
    expect(shown()).toEqual([]);
    mira.say("Any news?");
    await pass(() => shown().length === 2);
    expect(shown()).toEqual(["It is done.", "heard: Any news?"]);
    // Meta was not asked to send what it would have refused.
    expect(graph.taken).toHaveLength(2);
  });

  it("sends an answer whose outcome is unknown once more, and says so", async () => {
    const { graph, mira, pass, shown } = await setUp();
    graph.fault("messages", { kind: "drop", when: "after" });
    mira.say("one");
    await pass(() => shown().length === 2);
    expect(shown()).toEqual(["heard: one", expect.stringMatching(/\nheard: one$/)]);
  });

  it("waits out a rate limit", async () => {
    const { clock, graph, mira, pass, shown } = await setUp();
    const startedAt = clock.now();
    graph.fault("messages", { kind: "refuse", status: 429, code: 130_429, retryAfterSeconds: 30 }, 4);
    mira.say("one");
    await pass(() => shown().length === 1);
    expect(clock.now() - startedAt).toBeGreaterThan(4 * 30_000);
  });
});
