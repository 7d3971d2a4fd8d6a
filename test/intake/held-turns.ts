import { onTestFinished } from "vitest";
import { manualClock } from "../support/clock.ts";
import { testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";

/** Perch with an agent that answers when the test lets it. */
export type Held = TestGateway & {
  readonly clock: ReturnType<typeof manualClock>;
  /** What the agent was asked, in order, in words. */
  heard(): readonly string[];
  /** Lets the turn that runs come to its answer, and what follows begin. */
  answer(withinMs?: number): Promise<void>;
};

/** It is closed when the test has ended. */
export async function heldTurns(options: TestGatewayOptions = {}): Promise<Held> {
  const clock = manualClock();
  const open: (() => void)[] = [];
  const gateway = await testGateway({
    clock,
    answer: (turn, signal) =>
      new Promise((resolve, reject) => {
        open.push(() => resolve(`heard: ${textOf(turn)}`));
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
    ...options,
  });
  let killed = false;
  onTestFinished(async () => {
    if (killed) return;
    const closed = gateway.close();
    await clock.advance(0); // a turn that runs is cut off
    await closed;
  });
  return {
    ...gateway,
    clock,
    async kill() {
      killed = true;
      await gateway.kill();
    },
    heard: () => gateway.asked.map(textOf),
    async answer(withinMs = 2_000) {
      open.shift()?.();
      await clock.advance(withinMs);
    },
  };
}
