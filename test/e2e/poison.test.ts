import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type World, world } from "../support/telegram-perch.ts";

const ADA = { id: 700_100_001, firstName: "Ada" } as const;
const BEN = { id: 700_100_002, firstName: "Ben" } as const;
const GRAPH = join(import.meta.dirname, "../fixtures/graphs/poison.js");

let at: World;
afterEach(() => at.close());

it("a message that ends the process each time is set aside at the fourth start, and others are answered once", async () => {
  at = await world({
    channel: `allow: ["${ADA.id}", "${BEN.id}"]`,
    files: { "config/agents/helper.md": `---\ngraph: ${GRAPH}\n---\n` },
  });
  const ada = at.telegram.privateChat(ADA);
  const ben = at.telegram.privateChat(BEN);
  const env = { POISON: "1" };
  ada.sendText("poison");
  for (let start = 1; start <= 3; start += 1) {
    if (start === 2) ben.sendText("meanwhile");
    // Killed, so without an exit code.
    expect(await at.spawn(env).ended).toBe(null);
  }
  const fourth = await at.start(env);
  await at.telegram.untilSent(ada.chatId, 1);
  await at.telegram.untilSent(ben.chatId, 1);
  ada.sendText("and now?");
  await at.telegram.untilSent(ada.chatId, 2);
  expect(at.telegram.sentTo(ada.chatId).map(({ text }) => text)).toEqual([
    "Sorry, I could not get through a message of yours after three tries and have set it aside.",
    "heard: and now?",
  ]);
  expect(at.telegram.sentTo(ben.chatId).map(({ text }) => text)).toEqual(["heard: meanwhile"]);

  const queue = await at.perch("queue");
  expect(queue.code).toBe(0);
  expect(queue.output).toMatch(/^(\d+) dead in tg chat \d+ for helper since \S+, 3 tries\n$/);
  const number = queue.output.split(" ")[0] ?? "";
  expect((await at.perch("why", number)).output).toMatch(
    /: dead \(its turn ended the process too often\)\n.*admitted.*attempt: 1.*found after a crash.*attempt: 2.*attempt: 3.*dead/s,
  );
  expect(await fourth.stop()).toBe(0);

  expect(await at.perch("queue", "retry", number)).toEqual({
    code: 0,
    output: `Message ${number} waits again.\n`,
  });
  expect(await at.perch("queue", "retry", number)).toEqual({
    code: 1,
    output: `Message ${number} was not set aside.\n`,
  });
  await at.start();
  await at.telegram.untilSent(ada.chatId, 3);
  expect(at.telegram.sentTo(ada.chatId).at(-1)?.text).toBe("heard: poison");
  expect((await at.perch("queue")).output).toBe("Nothing waits, and nothing was set aside.\n");
});
