import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { pause } from "../../src/core/clock.ts";
import { textOf } from "../support/gateway.ts";
import { LinkedGateway, type LinkedGatewayOptions } from "../support/whatsapp/linked-gateway.ts";

type Case = { readonly id: string; readonly symptom: string };

const CASES = JSON.parse(
  readFileSync(join(import.meta.dirname, "../fixtures/cases/whatsapp.json"), "utf8"),
) as readonly Case[]; // copied from the collection of public reports

/** By then it is told of a message that could not be read. */
const PATIENCE_MS = 80_000;

let last: LinkedGateway | undefined;
afterEach(() => last?.close());

async function open(options: LinkedGatewayOptions = {}): Promise<LinkedGateway> {
  last = await LinkedGateway.open(options);
  return last;
}

const drivers: Readonly<Record<string, () => Promise<void>>> = {
  async "QUE-03"() {
    const first = await open();
    const { device, stood } = first.linked;
    const mira = await first.person();
    await mira.say(device, "one", { id: "M1" });
    await first.shown(mira, "heard: one");

    const opened = stood.items.length;
    first.wa.cut();
    device.pushAgain("M1");
    await stood.when((state) => state.is === "open" && stood.items.indexOf(state) >= opened);
    await device.whenDrained();
    // And once more, in a session of its own, because it could not be read.
    await mira.say(device, "one", { id: "M1", corrupt: "once" });
    await device.whenDrained();
    await mira.say(device, "two", { id: "M2" });
    await first.shown(mira, "heard: two");
    expect(first.turns.items.map(textOf)).toEqual(["one", "two"]);

    await first.stop();
    device.pushAgain("M1");
    await mira.say(device, "one", { id: "M1" });
    await mira.say(device, "three", { id: "M3" });
    const second = await open({ before: first });
    await second.shown(mira, "heard: three");
    await device.whenDrained();
    await pause(second.clock, PATIENCE_MS);
    expect(second.turns.items.map(textOf)).toEqual(["three"]);
    expect(second.textsOn(mira)).toEqual(["heard: one", "heard: two", "heard: three"]);
  },
};

describe("public reports that WhatsApp must not repeat", () => {
  it.each(CASES.map((each) => [each.id, each.symptom] as const))(
    "%s: %s",
    { timeout: 60_000 },
    async (id) => {
      const drive = drivers[id];
      expect(drive, `nothing drives ${id}`).toBeDefined();
      await drive?.();
    },
  );

  it("QUE-07: one id in two private chats, and of two senders in one group, are four turns", async () => {
    const at = await open({ rules: { chats: { "120363000000000001@g.us": { when: "all" } } } });
    const { device } = at.linked;
    const [mira, noor] = [await at.person(), await at.person()];
    const group = at.wa.addGroup({ id: "120363000000000001@g.us", members: [at.owner, mira, noor] });
    await mira.say(device, "a", { id: "77" });
    await noor.say(device, "b", { id: "77" });
    await Promise.all([at.shown(mira, "heard: a"), at.shown(noor, "heard: b")]);
    await mira.say(device, "c", { id: "77", group });
    await at.asked("c");
    await noor.say(device, "d", { id: "77", group });
    await at.asked("d");
    expect(at.turns.items.map((turn) => textOf(turn).at(-1))).toEqual(["a", "b", "c", "d"].toSorted());
  });
});
