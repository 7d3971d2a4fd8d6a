import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { INBOUND } from "./cases.ts";
import { DETAILS, STATES } from "./details.ts";
import { DRIVERS } from "./drivers.ts";
import { checkRun } from "./expected.ts";
import { drive } from "./inbound.ts";
import { startWorld, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

// Each case has a chat and an agent of its own, so that one does not wait for the other's windows.
describe.concurrent("what people send", () => {
  for (const one of INBOUND) {
    it(`${one.id}: ${one.symptom}`, { timeout: 60_000 }, async () => {
      const driver = DRIVERS[one.id];
      if (driver) return await driver(world, one);
      const runs = await drive(one, world);
      expect(runs).not.toEqual([]);
      const state = STATES[one.id];
      if (state) return await state(runs, one, world);
      for (const run of runs) await checkRun(one, run);
      await DETAILS[one.id]?.(runs, one, world);
    });
  }
});
