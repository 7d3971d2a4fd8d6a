import { afterEach, expect, it } from "vitest";
import { Acks } from "../../../channels/whatsapp/baileys/sending/acks.ts";
import type { Line } from "../../../channels/whatsapp/baileys/line.ts";
import { watchedClock } from "../../support/channel-contract.ts";
import { manualClock } from "../../support/clock.ts";
import { Sending } from "./sending.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

it("waits 2 s for what is on its way, though WhatsApp never says which devices there are", async () => {
  const sending = await Sending.open();
  const { wa, clock, sender } = sending;
  const dan = await wa.addPerson({ phone: "15550000004", lid: "90000000000004", name: "Dan" });
  const isUsync = ({ attrs }: { attrs: Record<string, string> }): boolean => attrs["xmlns"] === "usync";
  let answer = (): void => {};
  const until = new Promise<void>((resolve) => (answer = resolve));
  wa.faults.queries.add({ kind: "late", until }, { when: isUsync });
  const failure = sending.failureOf(sending.say("hello", { chat: sending.keyOf(dan) }));
  cleanups.push(() => sending.close());
  await wa.waitForNode(isUsync);
  const closed = sender.close();
  await clock.whenTimer(2_000);
  await clock.advance(2_000);
  await closed;
  answer();
  expect(await failure).toMatchObject({ code: "send.not_written" });
  expect(wa.sends).toEqual([]);
});

it("leaves no timer behind where nobody waits for an acknowledgement any more", async () => {
  const clock = watchedClock(manualClock());
  const expected = new Acks(clock).expect("3EB0", { generation: 1 } as Line); // nothing of it is heard
  const ending = new AbortController();
  const answer = expected.answer(ending.signal);
  ending.abort(new Error("closed"));
  await expect(answer).rejects.toThrow("closed");
  expect(clock.waiting()).toBe(0);
});
