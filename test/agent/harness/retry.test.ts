import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HumanMessage } from "@langchain/core/messages";
import { askAside } from "../../../src/agent/harness/aside.ts";
import { retried } from "../../../src/agent/harness/retry.ts";
import type { AroundModel } from "../../../src/agent/harness/stage.ts";
import { memoryLog } from "../../support/channel-host.ts";
import { manualClock, type ManualClock } from "../../support/clock.ts";
import type { Reply } from "../../support/models/server.ts";
import { definition } from "../set-up.ts";
import { rejection, staged, type Staged } from "./stage-set-up.ts";

let told: Staged;
let clock: ManualClock;
beforeEach(async () => {
  told = await staged();
  clock = manualClock(Date.parse("2026-10-21T07:28:00Z"));
});
afterEach(async () => told.server.close());

const status = (code: number, more: object = {}): Reply => ({ fault: "status", status: code, ...more });

/** `drawn` is where in its range each pause lies, from 0 to 1. */
const stage = (drawn = 0, fields: Parameters<typeof definition>[0] = {}): AroundModel =>
  retried(definition({ model: told.choice, ...fields }), { clock, log: memoryLog([]) }, () => drawn);

/** Waits for pauses of exactly these lengths, and lets each pass. */
async function pauses(...lengths: readonly number[]): Promise<void> {
  for (const ms of lengths) {
    await clock.whenTimer(ms);
    await clock.advance(ms);
  }
}

describe("a model that does not answer", () => {
  it.each([408, 409, 425, 429, 500, 502, 503, 504])("is asked three times at status %i", async (code) => {
    told.server.reply(status(code), status(code), "at last");
    const said = told.ask(stage());
    await pauses(1_000, 1_000);
    expect((await said).answer.text).toBe("at last");
    expect(told.server.requests).toHaveLength(3);
  });

  it("is not asked a fourth time", async () => {
    told.server.reply(status(500), status(500), status(500));
    const said = rejection(told.ask(stage()));
    await pauses(1_000, 1_000);
    expect(await said).toMatchObject({ status: 500 });
    expect(told.server.requests).toHaveLength(3);
  });

  it.each([
    ["was reset", { fault: "reset" } as const],
    ["broke off", { fault: "reset-mid-stream", text: "a b", words: 1 } as const],
  ])("is asked again when the connection %s", async (_how, fault) => {
    told.server.reply(fault, "again");
    const said = told.ask(stage());
    await pauses(1_000);
    expect((await said).answer.text).toBe("again");
  });

  it("is given pauses that grow, each drawn by the one before, up to eight seconds", async () => {
    told.server.reply(status(500), status(500), "at last");
    const said = told.ask(stage(1));
    await pauses(3_000, 8_000);
    expect((await said).answer.text).toBe("at last");
  });

  it.each([
    ["refused key", status(401)],
    ["used up account", status(429, { message: "insufficient_quota" })],
    ["invalid request", status(400)],
    ["unknown model", status(404)],
    ["server that cannot do it", status(501)],
  ])("is asked once where that does not help: %s", async (_why, reply) => {
    told.server.reply(reply);
    expect(await rejection(told.ask(stage()))).toHaveProperty("status");
    expect(told.server.requests).toHaveLength(1);
  });

  it("is asked twice, after a longer pause, where too much came at once", async () => {
    const burst = status(429, { message: "Request rate increased too quickly" });
    told.server.reply(burst, burst);
    const said = rejection(told.ask(stage()));
    await pauses(5_000);
    expect(await said).toMatchObject({ status: 429 });
    expect(told.server.requests).toHaveLength(2);
  });
});

describe("a model that says how long to wait", () => {
  it.each([
    ["in seconds", { retryAfterSeconds: 20 }],
    ["as a date", { retryAfterDate: "Wed, 21 Oct 2026 07:28:20 GMT" }],
  ])("is given that %s", async (_how, more) => {
    told.server.reply(status(429, more), "now");
    const said = told.ask(stage());
    await pauses(20_000);
    expect((await said).answer.text).toBe("now");
  });

  it("is not waited for beyond the end of the turn", async () => {
    told.server.reply(status(503, { retryAfterSeconds: 20 }));
    const turn = { folder: "/nowhere", endsAt: clock.now() + 19_000 };
    expect(await rejection(told.ask(stage(), { turn }))).toMatchObject({ status: 503 });
    expect(told.server.requests).toHaveLength(1);
  });

  it("is not waited for long where another can be asked, but the last of them is", async () => {
    const other = { ...told.choice, name: "other" };
    told.server.reply(status(503, { retryAfterSeconds: 20 }));
    expect(await rejection(told.ask(stage(0, { fallbacks: [other] })))).toMatchObject({ status: 503 });
    told.server.reply(status(503, { retryAfterSeconds: 20 }), "now");
    const last = told.ask(stage(0, { fallbacks: [other] }), { choice: other });
    // The same object, as the stage that falls back hands it on.
    await pauses(20_000);
    expect((await last).answer.text).toBe("now");
  });
});

it("asks again for ourselves too", async () => {
  told.server.reply(status(503, { retryAfterSeconds: 5 }), "summed up");
  const { model } = told;
  const counting = { agent: definition(), choice: told.choice, onUse: undefined };
  const said = askAside(model, [new HumanMessage("sum it up")], undefined, counting, {
    clock,
    log: memoryLog([]),
  });
  await pauses(5_000);
  expect((await said).text).toBe("summed up");
});

it("ends its pause with the signal, and asks no more", async () => {
  told.server.reply(status(500));
  const controller = new AbortController();
  const said = rejection(told.ask(stage(), { signal: controller.signal }));
  await clock.whenTimer(1_000);
  controller.abort(new Error("stopped"));
  expect((await said).message).toBe("stopped");
  expect(told.server.requests).toHaveLength(1);
});

it("does not take an end by the signal for a failure", async () => {
  told.server.reply({ fault: "silence" });
  const controller = new AbortController();
  told.server.on("request", () => controller.abort(new Error("stopped")));
  expect(await rejection(told.ask(stage(), { signal: controller.signal }))).toBeInstanceOf(Error);
  expect(told.server.requests).toHaveLength(1);
});
