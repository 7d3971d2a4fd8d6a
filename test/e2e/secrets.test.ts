import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { perchYaml, type World, world } from "../support/telegram-perch.ts";

const ADA = { id: 700_123_987, firstName: "Zephyrine", lastName: "Quillfeather" } as const;
const MALLORY = { id: 700_456_321, firstName: "Mordecai" } as const;
const GROUP = -1_001_700_300_009;
// No form of a key that the log would mask wherever it stands.
const API_KEY = "plainly-secret-lantern";
const TOKEN = "6900000007:AAQsecretpartofthetoken_0123456789abc";
const PHONE = "+49 151 23456789";
const SECRETS = [
  TOKEN,
  "AAQsecretpartofthetoken",
  API_KEY,
  "Zephyrine",
  "Quillfeather",
  "Mordecai",
  String(ADA.id),
  String(MALLORY.id),
  String(GROUP),
  "marmalade",
  "149 151",
  "23456789",
  "Birdwatchers",
];

let at: World;
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A provider that quotes what it was sent in its refusal, as some do. */
async function quotingProvider(): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      const message = `cannot take\n${body}\nwith ${request.headers.authorization}`;
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message, type: "invalid_request_error", code: "bad_part" } }));
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`; // listening on TCP
}

it("no token, key, word, name, id or number of a person is printed or logged, whatever goes wrong", async () => {
  const provider = await quotingProvider();
  const graph = join(import.meta.dirname, "../fixtures/graphs/fails.js");
  const channel = (when: string): string =>
    `allow: ["${ADA.id}"], strangers: polite, chats: { "${GROUP}": { agent: quoted, when: ${when} }, "${ADA.id}": { topics: { "9": { agent: failing } } } }`;
  at = await world({
    token: TOKEN,
    apiKey: API_KEY,
    channel: channel("all"),
    files: {
      "config/agents/quoted.md": `---\nmodel: openai:test\nbaseUrl: ${provider}\napiKey: \${KEY}\n---\nBe brief.\n`,
      "config/agents/failing.md": `---\ngraph: ${graph}\n---\n`,
    },
  });
  cleanups.push(() => at.close());
  const { telegram, model } = at;
  const env = { PERCH_LOG: "debug" };
  const ada = telegram.privateChat(ADA);
  const mallory = telegram.privateChat(MALLORY);
  const group = telegram.supergroup({ id: GROUP, title: "Birdwatchers" }).as(ADA);
  let answers = 0;
  const answered = async (say: () => unknown, count = 1): Promise<void> => {
    say();
    answers += count;
    await telegram.untilSent(ada.chatId, answers);
  };
  const first = await at.start(env);

  await answered(() => ada.sendText(`marmalade one, call ${PHONE}`));
  // A stranger, told so.
  mallory.sendText("marmalade for me");
  await telegram.untilSent(mallory.chatId, 1);
  // The model fails, says what it was asked, or an operator's graph does.
  model.reply({ fault: "status", status: 401 });
  await answered(() => ada.sendText("marmalade two"));
  group.sendText(`marmalade three, call ${PHONE}`);
  await telegram.untilSent(GROUP, 1);
  await answered(() => ada.in(9).sendText("marmalade four"));
  model.reply({ fault: "reset" }, { fault: "reset" }, { fault: "reset" });
  await answered(() => ada.sendText("marmalade five"));
  // Telegram refuses to send, quoting the text; its address breaks; a file cannot be had.
  telegram.fault(
    { method: "sendMessage" },
    { kind: "refuse", code: 400, description: 'Bad Request: cannot parse "marmalade six"' },
  );
  await answered(() => ada.sendText("marmalade six"));
  telegram.fault({ method: "sendMessage" }, { kind: "drop", when: "after" });
  await answered(() => ada.sendText("marmalade seven"), 2);
  telegram.fault({ method: "file", times: 3 }, { kind: "refuse", code: 404, description: "Not Found" });
  await answered(() => ada.sendDocument(Buffer.from("marmalade eight"), { fileName: "marmalade.txt" }), 2);
  telegram.fault({ method: "getUpdates", times: 2 }, { kind: "drop", when: "before" });
  await answered(() => ada.sendText("marmalade nine"));
  // It crashes while it sends.
  telegram.on("beforeCommit", async (call) => {
    if (call.parameters["text"] === "marmalade ten") await first.kill();
  });
  ada.sendText("marmalade ten");
  await first.ended;

  const second = await at.start(env);
  answers = telegram.sentTo(ada.chatId).length;
  await answered(() => ada.sendText("marmalade eleven"));
  // A faulty file, and then Telegram takes the token no more.
  await at.folder.write(
    "config/perch.yaml",
    perchYaml(telegram, channel("loudly")).replace("${TOKEN}", TOKEN),
  );
  await second.said(/the last good one stays/);
  telegram.fault(
    { method: "getUpdates", times: 100 },
    { kind: "refuse", code: 401, description: "Unauthorized" },
  );
  ada.sendText("marmalade twelve");
  await second.said(/does not accept the token/);
  const everything = [
    first.output(),
    second.output(),
    (await at.perch("why")).output,
    (await at.perch("queue")).output,
  ];
  expect(await second.stop()).toBe(0);
  everything.push(second.output());

  for (const sentence of [
    "the model did not answer",
    "a piece could not be sent",
    "the outcome of a send is unknown",
    "receiving from Telegram failed",
  ])
    expect(everything.join("\n")).toContain(sentence);
  const leaks = everything.flatMap((text) =>
    text.split("\n").filter((line) => SECRETS.some((secret) => line.includes(secret))),
  );
  expect(leaks).toEqual([]);
}, 60_000);
