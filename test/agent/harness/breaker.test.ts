import { afterEach, beforeEach, expect, it } from "vitest";
import { withBreaker } from "../../../src/agent/harness/breaker.ts";
import { Breakers } from "../../../src/agent/harness/breakers.ts";
import type { AroundModel } from "../../../src/agent/harness/stage.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { manualClock, type ManualClock } from "../../support/clock.ts";
import type { Reply } from "../../support/models/server.ts";
import { failure } from "../set-up.ts";
import { rejection, staged, type Staged } from "./stage-set-up.ts";

let told: Staged;
let clock: ManualClock;
let breakers: Breakers;
let stage: AroundModel;
beforeEach(async () => {
  told = await staged();
  clock = manualClock();
  breakers = new Breakers(clock);
  stage = withBreaker({ clock, breakers });
});
afterEach(async () => told.server.close());

const DOWN: Reply = { fault: "status", status: 503 };

async function fail(times: number, reply: Reply = DOWN): Promise<void> {
  for (let each = 0; each < times; each += 1) {
    told.server.reply(reply);
    await rejection(told.ask(stage));
  }
}

/** Whether a question fails without the model being asked. */
async function rests(): Promise<boolean> {
  const before = told.server.requests.length;
  const error = await failure(told.ask(stage));
  return error.reason === "busy" && told.server.requests.length === before;
}

it("leaves a model in peace after five failures in a minute", async () => {
  await fail(5);
  expect(await rests()).toBe(true);
  await clock.advance(59_000);
  expect(await rests()).toBe(true);
});

it("says for how long", async () => {
  await fail(5);
  await clock.advance(20_000);
  expect(await failure(told.ask(stage))).toMatchObject({ retryAfterMs: 40_000 });
});

it("asks on where failures lie further apart, or an answer between them", async () => {
  await fail(4);
  await clock.advance(61_000);
  await fail(4);
  expect((await told.ask(stage)).answer.text).toBe("seen");
  await fail(4);
  expect((await told.ask(stage)).answer.text).toBe("seen");
});

it("counts no refusals", async () => {
  await fail(6, { fault: "status", status: 401 });
  expect((await told.ask(stage)).answer.text).toBe("seen");
});

it("lets one question through after the rest, and all when it is answered", async () => {
  await fail(5);
  await clock.advance(60_000);
  let answer = (): void => {};
  const asked = new Promise<void>((there) =>
    told.server.on("request", () => {
      there();
      return new Promise<void>((resolve) => (answer = resolve));
    }),
  );
  const probe = told.ask(stage);
  await asked;
  expect(await rests()).toBe(true);
  answer();
  expect((await probe).answer.text).toBe("seen");
});

it("rests again when that one fails, and asks again when it was given up", async () => {
  await fail(5);
  await clock.advance(60_000);
  await fail(1);
  expect(await rests()).toBe(true);
  await clock.advance(60_000);
  const controller = new AbortController();
  controller.abort(new Error("stopped"));
  expect(await rejection(told.ask(stage, { signal: controller.signal }))).toBeInstanceOf(Error);
  expect((await told.ask(stage)).answer.text).toBe("seen");
  expect((await told.ask(stage)).answer.text).toBe("seen");
});

it("is one for all agents that ask a model with the same key, and for no other", async () => {
  await fail(5);
  const another = withBreaker({ clock, breakers });
  expect(await failure(told.ask(another))).toMatchObject({ reason: "busy" });
  const choice = { ...told.choice, apiKey: "another" };
  expect((await told.ask(another, { choice })).answer.text).toBe("seen");
});

it("learns nothing of a model from a question that a budget has kept from it", async () => {
  await fail(5);
  await clock.advance(60_000);
  const spent = new GatewayError("budget.spent", "nothing is left");
  await rejection(told.ask((asking) => stage(asking, () => Promise.reject(spent))));
  // The next failure is that of the one question that is let through.
  await fail(1);
  expect(await rests()).toBe(true);
});
