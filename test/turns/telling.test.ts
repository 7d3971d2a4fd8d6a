import { afterEach, describe, expect, it } from "vitest";
import type { Meter } from "../../src/core/meter.ts";
import { type SpanTold, traceOf } from "../../src/core/tracing.ts";
import { manualClock } from "../support/clock.ts";
import { testGateway, type TestGatewayOptions, type TestGateway } from "../support/gateway.ts";

const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

async function setUp(options: TestGatewayOptions = {}) {
  const clock = manualClock();
  const counted: unknown[][] = [];
  const spans: SpanTold[] = [];
  const meter: Meter = {
    accepted: (...what) => void counted.push(["accepted", ...what]),
    refused: (...what) => void counted.push(["refused", ...what]),
    turn: (...what) => void counted.push(["turn", ...what]),
    used: (...what) => void counted.push(["used", ...what]),
    piece: (...what) => void counted.push(["piece", ...what]),
  };
  const tracer = { span: (span: SpanTold) => void spans.push(span) };
  const gateway = await testGateway({ clock, told: { meter, tracer }, ...options });
  opened.push(gateway);
  return { ...gateway, clock, counted, spans };
}

describe("what is told of the work", () => {
  it("counts events, turns with how long people waited, and pieces", async () => {
    const { platform, clock, counted } = await setUp({
      answer: (turn) => {
        turn.onUse?.(USE);
        return "here";
      },
    });
    await platform.say("c1", "hello");
    await clock.advance(300);
    expect(counted).toEqual([
      ["accepted", "toy", 1],
      ["used", USE],
      ["turn", { agent: "helper", channel: "toy", state: "done", error: "", waitedMs: 300, tookMs: 0 }],
      ["piece", "toy", "sent"],
    ]);
  });

  it("follows a message under one number: how long it waited, its turn, its answer's way", async () => {
    const { platform, clock, spans } = await setUp();
    await platform.say("c1", "hello");
    await clock.advance(300);
    const began = spans.find(({ name }) => name === "message")?.from ?? 0;
    expect(spans.map(({ name, intent, from, until }) => [name, intent, from - began, until - began])).toEqual(
      [
        ["wait", 1, 0, 300],
        ["turn", 1, 300, 300],
        ["message", 1, 0, 300],
        ["deliver", 1, 300, 300],
      ],
    );
  });

  it("says in spans and in the log which message it was that failed, and no word of it", async () => {
    const { platform, clock, spans, logged, counted } = await setUp({
      answer: () => Promise.reject(new Error("no")),
    });
    await platform.say("c1", "my secret", { whole: true });
    await clock.advance(0);
    expect(spans.find(({ name }) => name === "turn")?.failed).toBe("unexpected");
    expect(counted).toContainEqual([
      "turn",
      expect.objectContaining({ state: "failed", error: "unexpected" }),
    ]);
    const line = logged.find(({ sentence }) => sentence === "a turn failed");
    expect(line?.fields["trace"]).toBe(traceOf(1));
    expect(JSON.stringify(spans)).not.toContain("secret");
  });
});

const USE = {
  agent: "helper",
  model: "demo",
  inputTokens: 3,
  cachedTokens: 0,
  outputTokens: 1,
  costMicros: 0,
};
