import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import type { ChannelState } from "../../../src/core/host.ts";
import { plainText } from "../../../src/core/rendered.ts";
import { memoryState } from "../../support/channel-host.ts";
import { openConnection, startPlatform } from "./opened.ts";

const MESSAGES = 60;
const DELAYS_MS = [0, 4, 1, 5, 2, 3];

/** Reads and writes as over a network, one sooner and one later. */
function farAway(state: ChannelState): ChannelState {
  let calls = 0;
  const later =
    <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      const ms = DELAYS_MS[(calls += 1) % DELAYS_MS.length];
      await new Promise((resolve) => setTimeout(resolve, ms));
      return await call(...given);
    };
  return {
    ...state,
    get: later(state.get),
    set: later(state.set),
    async lease(ms) {
      const lease = await state.lease(ms);
      return lease && { ...lease, set: later(lease.set) };
    },
  };
}

it("reads what somebody says while they are answered, and they can read the answers", async () => {
  const platform = await startPlatform();
  const { wa, bob } = platform;
  onTestFinished(() => wa.close());
  const { channel, host, link, close } = await openConnection(platform, {
    state: farAway(memoryState()),
    clock: systemClock,
  });
  onTestFinished(close);
  const device = await link();
  const numbers = Array.from({ length: MESSAGES }, (_, at) => at + 1);
  const answer = (id: number) => ({
    id,
    to: { channel: "wa", chat: "lid:90000000000002" },
    body: { kind: "text" as const, rendered: plainText(`answer ${id}`) },
  });
  const heard = (): readonly string[] =>
    host.accepted.flatMap((event) => (event.type === "message" ? [event.id] : []));

  const asking = (async () => {
    for (const n of numbers) await bob.say(device, `question ${n}`, { id: `Q${n}` });
  })();
  await Promise.all([
    asking,
    ...numbers.map((n) => channel.send(answer(n), { number: 1 }, new AbortController().signal)),
  ]);
  await device.whenDrained();
  while (heard().length < MESSAGES) await host.whenAccepted(host.accepted.length + 1);

  expect(heard().toSorted()).toEqual(numbers.map((n) => `Q${n}`).toSorted());
  const shown = bob.inbox.map(({ message }) => message.extendedTextMessage?.text ?? "");
  expect(shown.toSorted()).toEqual(numbers.map((n) => `answer ${n}`).toSorted());
  // Nothing had to be asked for again, at either end.
  expect(bob.inbox.map(({ id }) => bob.arrivals(id))).toEqual(numbers.map(() => 1));
  expect(device.taken.items.flatMap(({ error }) => error ?? [])).toEqual([]);
});
