import { describe, expect, it } from "vitest";
import { type Looked, metrics } from "../../src/operations/metrics.ts";

const QUIET: Looked = { queues: [], channels: [], running: 0 };

describe("metrics", () => {
  it("count turns by agent, connection, state and error, with how long people waited", async () => {
    const { meter, text } = metrics(async () => QUIET);
    const turn = { agent: "helper", channel: "family", error: "", waitedMs: 300, tookMs: 4_000 };
    meter.turn({ ...turn, state: "done" });
    meter.turn({ ...turn, state: "done" });
    meter.turn({ ...turn, state: "failed", error: "turn.timed_out" });
    const lines = (await text()).split("\n");
    expect(lines.filter((line) => line.startsWith("perch_turns_total"))).toEqual([
      'perch_turns_total{agent="helper",channel="family",state="done",error=""} 2',
      'perch_turns_total{agent="helper",channel="family",state="failed",error="turn.timed_out"} 1',
    ]);
    expect(lines).toContain('perch_turn_seconds_sum{agent="helper"} 12');
    expect(lines).toContain('perch_turn_wait_seconds_bucket{le="0.25",agent="helper"} 0');
    expect(lines).toContain('perch_turn_wait_seconds_bucket{le="0.5",agent="helper"} 3');
  });

  it("count tokens and cost by model, and pieces by what became of them", async () => {
    const { meter, text } = metrics(async () => QUIET);
    const use = { agent: "helper", model: "openai:gpt-5" };
    meter.used({ ...use, inputTokens: 100, cachedTokens: 40, outputTokens: 7, costMicros: 1_500_000 });
    meter.piece("family", "sent");
    meter.piece("family", "again");
    meter.accepted("family", 3);
    meter.refused("family", 1);
    const all = await text();
    for (const line of [
      'perch_tokens_total{agent="helper",model="openai:gpt-5",kind="input"} 100',
      'perch_tokens_total{agent="helper",model="openai:gpt-5",kind="cached"} 40',
      'perch_tokens_total{agent="helper",model="openai:gpt-5",kind="output"} 7',
      'perch_cost_total{agent="helper",model="openai:gpt-5"} 1.5',
      'perch_deliveries_total{channel="family",outcome="sent"} 1',
      'perch_deliveries_total{channel="family",outcome="again"} 1',
      'perch_events_total{channel="family",outcome="committed"} 3',
      'perch_events_total{channel="family",outcome="kept_by_platform"} 1',
    ])
      expect(all.split("\n")).toContain(line);
  });

  it("show what waits and where connections stand as it is now, not as it was", async () => {
    let now: Looked = {
      queues: [{ what: "turns", depth: 4, oldestSeconds: 12.5 }],
      channels: [{ id: "family", is: "open" }],
      running: 2,
    };
    const { text } = metrics(async () => now);
    const before = await text();
    now = { queues: [{ what: "turns", depth: 0, oldestSeconds: 0 }], channels: [], running: 0 };
    const after = await text();
    expect(before).toContain('perch_queue_depth{what="turns"} 4');
    expect(before).toContain('perch_queue_oldest_seconds{what="turns"} 12.5');
    expect(before).toContain('perch_channel_state{channel="family",is="open"} 1');
    expect(before).toContain("perch_turns_running 2");
    expect(after).toContain('perch_queue_depth{what="turns"} 0');
    expect(after).not.toContain("perch_channel_state{");
  });

  it("tell how far the event loop lags", async () => {
    expect(await metrics(async () => QUIET).text()).toContain("nodejs_eventloop_lag_seconds");
  });
});
