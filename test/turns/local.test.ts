import { afterEach, describe, expect, it } from "vitest";
import { manualClock } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway } from "../support/gateway.ts";

const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

const START = Date.parse("2026-11-30T18:00:00Z");

async function setUp() {
  const clock = manualClock(START);
  const gateway = await testGateway({
    clock,
    connections: () => [{ id: "toy", kind: "telegram", is: "open", words: "open", pairs: false }],
  });
  opened.push(gateway);
  return { ...gateway, clock };
}

describe("where and with whom a turn is spoken", () => {
  it("is told to the agent, with the language and the end of the turn", async () => {
    const { platform, clock, asked } = await setUp();
    await platform.say("ada", "Wie spät ist es?", { from: { id: "ada", name: "Ada" } });
    await clock.advance(300);
    expect(asked[0]?.local).toEqual({
      kind: "telegram",
      chat: "private",
      people: ["Ada"],
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      now: START + 300,
    });
    expect(asked[0]?.language).toBe("de");
    expect(asked[0]?.endsAt).toBe(START + 300 + AGENT.limits.turnSeconds * 1_000);
  });

  it("names each of a group once, by their own names", async () => {
    const { platform, clock, asked } = await setUp();
    const place = { chat: "g1", kind: "group" } as const;
    const from = { id: "ada", name: "Ada" };
    await platform.say("g1", "when?", { place, from, addressed: true });
    await platform.say("g1", "and where?", { place, from, addressed: true });
    await clock.advance(300);
    expect(asked.map(({ local }) => [local?.chat, local?.people])).toEqual([["group", ["Ada"]]]);
  });

  it("takes no word of others for the person's language", async () => {
    const { platform, clock, asked } = await setUp();
    await platform.say("ada", "Kannst du das bitte für mich machen?", { forward: { from: "Ben" } });
    await platform.say("ada", "what is this?");
    await clock.advance(10_000);
    expect(asked.map(({ language }) => language)).toEqual(["en"]);
  });
});
