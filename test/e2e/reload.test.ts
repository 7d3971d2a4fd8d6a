import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegram, type TelegramEmulator } from "../support/telegram/emulator.ts";
import type { Running } from "../support/perch-process.ts";
import { agentFile, perchYaml, type World, world } from "../support/telegram-perch.ts";

const ADA = { id: 700_100_001, firstName: "Ada" } as const;
const RULES = `allow: ["${ADA.id}"]`;
const GROUP = -1_001_700_000_001;

let at: World;
let perch: Running;
let second: TelegramEmulator;
let answered: number;

beforeEach(async () => {
  at = await world({ channel: RULES });
  second = await startTelegram({ clock: at.clock, botId: 6_900_000_002, username: "wren_demo_bot" });
  answered = 0;
  at.telegram.on("pollAnswered", () => void (answered += 1));
  perch = await at.start();
});
afterEach(async () => {
  await at.close();
  await second.close();
});

/** Writes a file and waits until Perch has told what it makes of it. */
async function save(
  name: string,
  text: string,
  outcome: RegExp = /configuration is taken up/,
): Promise<void> {
  const from = perch.output().length;
  await at.folder.write(name, text);
  await perch.said(outcome, from);
}

async function ask(words: string, telegram: TelegramEmulator = at.telegram): Promise<string> {
  const ada = telegram.privateChat(ADA);
  const before = telegram.sentTo(ada.chatId).length;
  ada.sendText(words);
  const sent = await telegram.untilSent(ada.chatId, before + 1);
  return sent.at(-1)?.text ?? "";
}

function count(telegram: TelegramEmulator, method: string): number {
  return telegram.calls.filter((call) => call.method === method).length;
}

/** One poll is always under way; one that was hung up on is never answered and counts for ever. */
function pollsUnderWay(): number {
  return count(at.telegram, "getUpdates") - answered;
}

function bothBots(token: string): string {
  const other = `  wren: { kind: telegram, token: "\${${token}}", apiRoot: "${second.apiRoot}", ${RULES} }\n`;
  return perchYaml(at.telegram, RULES).replace("\nhttp:", `\n${other}http:`);
}

describe("a file that is saved while Perch runs", () => {
  it("changes an agent's prompt and model from the next turn on, and no connection notices", async () => {
    await ask("one");
    await save(
      "config/agents/helper.md",
      agentFile(at.model, "Speak like an owl.", "other"),
      /"agents":\["helper"\],"msg":"the changed configuration is taken up/,
    );
    await ask("two");
    const [first, next] = at.model.requests.map(({ body }) => body);
    expect(first).toMatchObject({ model: "test" });
    expect(JSON.stringify(first)).toContain("Be brief.");
    expect(next).toMatchObject({ model: "other" });
    expect(JSON.stringify(next)).toContain("Speak like an owl.");
    expect(JSON.stringify(next)).not.toContain("Be brief.");
    // The thread goes on.
    expect(JSON.stringify(next)).toContain("one");
    expect(count(at.telegram, "getMe")).toBe(1);
    expect(pollsUnderWay()).toBe(1);
  });

  it("adds a rule for a chat", async () => {
    const group = at.telegram.supergroup({ id: GROUP, title: "Birds" }).as(ADA);
    group.sendText("to-nobody");
    await ask("one");
    await save("config/perch.yaml", perchYaml(at.telegram, `${RULES}, chats: { "${GROUP}": { when: all } }`));
    group.sendText("to-everybody");
    const sent = await at.telegram.untilSent(GROUP, 1);
    expect(sent.map(({ text }) => text)).toEqual([expect.stringContaining("to-everybody")]);
    expect(count(at.telegram, "getMe")).toBe(1);
    expect(pollsUnderWay()).toBe(1);
  });

  it("is refused where it has faults, which are told, until it is mended", async () => {
    const faulty = perchYaml(at.telegram, 'alow: ["1"], strangers: rude');
    const from = perch.output().length;
    await save("config/perch.yaml", faulty, /the last good one stays/);
    const told = perch.output().slice(from);
    expect(told).toContain("config/perch.yaml:2 channels.tg.alow: unknown key. Did you mean");
    expect(told).toContain("channels.tg.strangers");
    expect(await ask("still here")).toBe("still here");
    await save("config/perch.yaml", perchYaml(at.telegram, `${RULES}, strangers: polite`));
    const mallory = at.telegram.privateChat({ id: 700_100_009, firstName: "Mallory" });
    mallory.sendText("hello");
    await at.telegram.untilSent(mallory.chatId, 1);
    expect(count(at.telegram, "getMe")).toBe(1);
  });

  it("opens a connection that it adds, and closes one that it takes away", async () => {
    await at.folder.write(".env", `WREN=${second.token}\n`);
    await save("config/perch.yaml", bothBots("WREN"));
    expect(await ask("to the second", second)).toBe("to the second");
    await save("config/perch.yaml", perchYaml(at.telegram, RULES));
    const polls = count(second, "getUpdates");
    second.privateChat(ADA).sendText("anybody there?");
    expect(await ask("to the first")).toBe("to the first");
    expect(count(second, "getUpdates")).toBe(polls);
    expect(second.pending()).toHaveLength(1);
    expect(count(at.telegram, "getMe")).toBe(1);
    expect(pollsUnderWay()).toBe(1);
  });

  it("connects anew where a token was changed, and nowhere else", async () => {
    await at.folder.write(".env", "WREN=123456789:a-token-that-Telegram-does-not-know-00\n");
    const from = perch.output().length;
    await save("config/perch.yaml", bothBots("WREN"));
    await perch.said(/Telegram does not accept the token/, from);
    await save(".env", `WREN=${second.token}\n`);
    expect(await ask("to the second", second)).toBe("to the second");
    expect(count(second, "getMe")).toBe(1);
    expect(count(at.telegram, "getMe")).toBe(1);
    expect(pollsUnderWay()).toBe(1);
  });

  it("is told of settings that hold from the next start on", async () => {
    await save("config/perch.yaml", perchYaml(at.telegram, RULES, "media: { imageBytes: 1000 }"));
    expect(perch.output()).toMatch(/"keys":\["media"\].*these settings hold from the next start on/);
    await save("config/perch.yaml", perchYaml(at.telegram, RULES));
    expect(perch.output().match(/from the next start on/g)).toHaveLength(1);
  });
});
