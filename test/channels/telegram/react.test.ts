import { afterEach, describe, expect, it } from "vitest";
import { manualClock } from "../../support/clock.ts";
import { type Bot, MIRA, openBot } from "./set-up.ts";

const open: Bot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

async function setUp(): Promise<
  Bot & { react: (ref: string, sign?: string, chat?: string, topic?: string) => Promise<void> }
> {
  const bot = await openBot({ clock: manualClock() });
  open.push(bot);
  const never = new AbortController().signal;
  return {
    ...bot,
    react: async (ref, sign, chat = String(MIRA.id), topic) => {
      const to = { channel: "family", chat, ...(topic === undefined ? {} : { topic }) };
      await bot.channel.react?.(to, ref, sign, never);
    },
  };
}

describe("a sign at a message", () => {
  it("is an emoji reaction of the bot, and is taken away again", async () => {
    const { emulator, mira, react } = await setUp();
    const { message_id } = mira.sendText("hello");
    await react(String(message_id), "👀");
    await react(String(message_id));
    expect(emulator.reactions.map(({ messageId, reaction }) => [messageId, reaction])).toEqual([
      [message_id, [{ type: "emoji", emoji: "👀" }]],
      [message_id, []],
    ]);
  });

  it("troubles nobody where there can be none", async () => {
    const { emulator, mira, react } = await setUp();
    const { message_id } = mira.sendText("hello");
    await react("9999", "👀");
    await react(String(message_id), "🧦");
    await react("no number", "👀");
    await react(String(message_id), "👀", `business:b1:${MIRA.id}`);
    await react(String(message_id), "👀", `guest:${MIRA.id}`, "q1");
    expect(emulator.reactions).toEqual([]);
  });
});
