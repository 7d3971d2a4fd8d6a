import { afterEach, expect, it } from "vitest";
import type { ModelServer } from "../support/models/server.ts";
import { gate, type World, world } from "../support/telegram-perch.ts";

const ADA = { id: 700_100_001, firstName: "Ada" } as const;
const BEN = { id: 700_100_002, firstName: "Ben" } as const;
const CHANNEL = `allow: ["${ADA.id}", "${BEN.id}"]`;

let at: World;
afterEach(() => at.close());

/** The model is asked and does not answer until `open`; later requests are answered at once. */
function holdFirst(model: ModelServer): { readonly asked: Promise<void>; open(): void } {
  const [asked, answer] = [gate(), gate()];
  model.on("request", async () => {
    if (model.requests.length > 1) return;
    asked.open();
    await answer.opened;
  });
  return { asked: asked.opened, open: answer.open };
}

it("lets a running turn end within the grace, and its answer arrives once", async () => {
  at = await world({ channel: CHANNEL });
  const held = holdFirst(at.model);
  const perch = await at.start();
  const ada = at.telegram.privateChat(ADA);
  const ben = at.telegram.privateChat(BEN);
  ada.sendText("kettle");
  await held.asked;
  perch.signal("SIGTERM");
  await perch.said(/Stopping/);
  // Taken in during the stop, answered after it.
  ben.sendText("teapot");
  held.open();
  expect(await perch.ended).toBe(0);
  await at.start();
  await at.telegram.untilSent(ada.chatId, 1);
  await at.telegram.untilSent(ben.chatId, 1);
  ada.sendText("cup");
  await at.telegram.untilSent(ada.chatId, 2);
  expect(at.telegram.sentTo(ada.chatId).map(({ text }) => text)).toEqual(["kettle", "cup"]);
  expect(at.telegram.sentTo(ben.chatId).map(({ text }) => text)).toEqual(["teapot"]);
  // The turn that ended was not run again.
  expect(at.model.requests).toHaveLength(3);
});

it("cuts a turn off when the grace is over, and answers it once at the next start", async () => {
  at = await world({ channel: CHANNEL, root: "turns: { graceSeconds: 2 }" });
  const held = holdFirst(at.model);
  const perch = await at.start();
  const ada = at.telegram.privateChat(ADA);
  ada.sendText("kettle");
  await held.asked;
  expect(await perch.stop()).toBe(0);
  expect(at.telegram.sentTo(ada.chatId)).toEqual([]);
  held.open();
  await at.start();
  await at.telegram.untilSent(ada.chatId, 1);
  ada.sendText("cup");
  await at.telegram.untilSent(ada.chatId, 2);
  expect(at.telegram.sentTo(ada.chatId).map(({ text }) => text)).toEqual(["kettle", "cup"]);
  // Our own stop counts as no crash.
  expect((await at.perch("why", "1")).output).toMatch(/given back.*claimed \(turn: 2, attempt: 1\)/s);
});

it("ends at once when it is told a second time", async () => {
  at = await world({ channel: CHANNEL, root: "turns: { graceSeconds: 600 }" });
  const held = holdFirst(at.model);
  const perch = await at.start();
  const ada = at.telegram.privateChat(ADA);
  ada.sendText("kettle");
  await held.asked;
  perch.signal("SIGTERM");
  await perch.said(/Stopping/);
  perch.signal("SIGTERM");
  expect(await perch.ended).toBe(1);
  held.open();
  await at.start();
  await at.telegram.untilSent(ada.chatId, 1);
  expect(at.telegram.sentTo(ada.chatId).map(({ text }) => text)).toEqual(["kettle"]);
});
