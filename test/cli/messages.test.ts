import { afterEach, expect, it } from "vitest";
import { traceOf } from "../../src/core/tracing.ts";
import { gate, type World, world } from "../support/telegram-perch.ts";

const ADA = { id: 700_100_001, firstName: "Ada" } as const;
const MALLORY = { id: 700_100_002, firstName: "Mallory" } as const;
const GROUP = -1_001_700_000_001;

let at: World;
afterEach(() => at.close());

it("perch why tells the way of each message, perch queue what waits, and neither a word of what was said", async () => {
  at = await world({ channel: `allow: ["${ADA.id}"], deny: ["700100003"]` });
  expect(await at.perch("why")).toEqual({ code: 0, output: "No message has come yet.\n" });
  expect((await at.perch("queue")).output).toBe("Nothing waits, and nothing was set aside.\n");
  const perch = await at.start();
  const ada = at.telegram.privateChat(ADA);
  const [asked, answer] = [gate(), gate()];
  at.telegram.privateChat(MALLORY).sendText("marmalade");
  at.telegram.privateChat({ id: 700_100_003, firstName: "Ned" }).sendText("marmalade");
  at.telegram.supergroup({ id: GROUP, title: "Birds" }).as(ADA).sendText("marmalade");
  ada.sendText("/status");
  ada.sendDocument(Buffer.from("marmalade"), { fileName: "m.txt" });
  await at.telegram.untilSent(ada.chatId, 2);
  at.model.on("request", async () => {
    asked.open();
    await answer.opened;
  });
  ada.sendText("marmalade that waits");
  await asked.opened;

  const newest = await at.perch("why");
  expect(newest.code).toBe(0);
  const states = [...newest.output.matchAll(/^(\d+) (\w+) in tg chat (\d+), \d{4}-\S+Z$/gm)];
  expect(states.map(([, id, state]) => `${id} ${state}`)).toEqual([
    "6 claimed",
    "5 consumed",
    "4 consumed",
    "3 refused",
    "2 refused",
    "1 refused",
  ]);
  expect(newest.output.trimEnd().split("\n").at(-1)).toBe("Ask again with one of these numbers.");

  const story = async (number: number): Promise<string> => {
    const { code, output } = await at.perch("why", String(number));
    expect(code).toBe(0);
    // The times are of the run.
    return output.replaceAll(/\+\d+\.\d{3} s/g, "+t").replaceAll(/waits [\d.]+ s/g, "waits n s");
  };
  expect(await story(1)).toMatch(
    /^Message 1 in tg chat 1: refused \(the sender is not allowed here\)\n +\+t +refused/,
  );
  expect(await story(2)).toMatch(/^Message 2 in tg chat 2: refused \(the sender is on the deny list\)\n/);
  expect(await story(3)).toMatch(/^Message 3 in tg chat 3: refused \(not addressed\)\n/);
  expect(await story(4)).toMatch(/^Message 4 in tg chat 4: consumed\n +\+t +command \(name: status\)/);
  const lines = (await story(5))
    .trimEnd()
    .split("\n")
    .map((line) => line.trim());
  expect(lines).toEqual([
    "Message 5 in tg chat 4: consumed",
    `trace ${traceOf(5)}, in the log and where spans are sent`,
    "+t  admitted (agent: helper, by: channel, joins nothing: nothing open, waits n s for more)",
    "+t  claimed (turn: 1, attempt: 1)",
    "+t  consumed (turn: 1, state: done, pieces: 1)",
    "attachment: extracted, 1 try",
    expect.stringMatching(/^piece \d+: sent, 1 try$/),
  ]);
  expect(await at.perch("why", "77")).toEqual({
    code: 1,
    output: "There is no message 77; perch why without a number lists the newest.\n",
  });

  const queue = await at.perch("queue");
  expect(queue.output).toMatch(/^6 claimed in tg chat 4 for helper since \S+, 1 try\n$/);
  expect((await at.perch("queue", "retry", "6")).output).toBe("Message 6 was not set aside.\n");
  expect(await at.perch("queue", "rety")).toEqual({
    code: 1,
    output: "perch queue takes nothing, or: retry <number of a message>.\n",
  });
  for (const { output } of [newest, queue]) expect(output).not.toMatch(/marmalade|7001000/);
  expect((await story(5)) + (await story(6))).not.toMatch(/marmalade|7001000/);
  answer.open();
  await at.telegram.untilSent(ada.chatId, 3);
  expect((await at.perch("queue")).output).toBe("Nothing waits, and nothing was set aside.\n");

  ada.sendDocument(Buffer.alloc(0), { fileName: "marmalade.txt" });
  await at.telegram.untilSent(ada.chatId, 5);
  const unread = await story(7);
  expect(unread).toContain("\n  attachment: unreadable (media.empty), 1 try\n");
  expect(unread).not.toContain("marmalade");
  expect(await perch.stop()).toBe(0);
}, 120_000); // a dozen processes one after the other
