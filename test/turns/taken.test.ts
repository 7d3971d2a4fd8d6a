import { afterEach, describe, expect, it } from "vitest";
import type { MessageEvent } from "../../src/core/events.ts";
import { manualClock, type ManualClock } from "../support/clock.ts";
import { testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";

const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

async function setUp(options: TestGatewayOptions = {}): Promise<TestGateway & { clock: ManualClock }> {
  const clock = manualClock();
  const at = { ...(await testGateway({ clock, ...options })), clock };
  opened.push(at);
  return at;
}

const inGroup = (id: string, addressed: boolean): Partial<MessageEvent> => ({
  place: { chat: "g1", kind: "group" },
  from: { id, name: id },
  addressed,
});

describe("a channel", () => {
  it("hears which messages the agent has taken up, those that it was only told of among them", async () => {
    const { platform, clock } = await setUp({ rules: { context: 1 } });
    await platform.say("g1", "forgotten", inGroup("bob", false));
    await platform.say("g1", "the boat leaves at six", inGroup("bob", false));
    await platform.say("g1", "when?", inGroup("ada", true));
    await platform.say("g1", "and where?", inGroup("ada", true));
    expect(platform.taken).toEqual([]); // nothing is read before its turn
    await clock.advance(300);
    expect(platform.taken).toEqual([{ chat: "g1", refs: ["m2", "m3", "m4"] }]);
  });

  it("hears nothing of what is no message of others, nor of what nobody takes up", async () => {
    const { platform, clock } = await setUp({ rules: { reactions: "turn" } });
    const place = { chat: "ada", kind: "private" } as const;
    await platform.say("ada", "hello");
    await platform.say("eve", "let me in", {
      from: { id: "eve", name: "Eve" },
      place: { ...place, chat: "eve" },
    });
    await clock.advance(300);
    await platform.react(place, platform.refOf("heard: hello"), { added: ["👍"] });
    await clock.advance(300);
    expect(platform.taken).toEqual([{ chat: "ada", refs: ["m1"] }]);
  });

  it("holds up no turn", async () => {
    const { platform, clock, asked, gateway, kind, host } = await setUp();
    const open = await kind.open({}, host);
    await gateway.opened("toy", { ...open, taken: () => new Promise(() => {}) });
    await platform.say("ada", "hello");
    await clock.advance(300);
    expect(asked.map(textOf)).toEqual(["hello"]);
    expect(platform.textsIn("ada")).toEqual(["heard: hello"]);
  });
});
