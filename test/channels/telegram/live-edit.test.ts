import { afterEach, describe, expect, it } from "vitest";
import type { ChannelState } from "../../../src/core/host.ts";
import type { ChatAddress } from "../../../src/core/identity.ts";
import { memoryState } from "../../support/channel-host.ts";
import { settle } from "../../support/clock.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { gate, type LiveBot, liveBot, type LiveBotOptions, PRIVATE } from "./live-bot.ts";
import { MIRA, text, until } from "./set-up.ts";

const open: LiveBot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

const CREW = -1_002_000_000_007;
const CHAT: ChatAddress = { channel: "family", chat: String(CREW) };

type World = LiveBot & {
  /** What stands in the group of ours. */
  standing(): readonly (string | undefined)[];
};

async function setUp(options: LiveBotOptions = {}): Promise<World> {
  const bot = await liveBot(CHAT, options);
  open.push(bot);
  if (!options.emulator) bot.emulator.supergroup({ id: CREW, title: "Crew" });
  return { ...bot, standing: () => bot.emulator.shown(CREW).map((message) => message.text) };
}

const left = async (state: ChannelState): Promise<readonly string[]> =>
  (await state.list("preview/", { limit: 9 })).map(([key]) => key);

describe("an answer in a group", () => {
  it("is shown in one message without a sound, which is edited, and gone once the answer stands there", async () => {
    const bot = await setUp();
    await bot.drafted("A", "A king", "A kingfisher");
    const [preview] = bot.emulator.sent;
    expect([preview?.text, preview?.silent, preview?.linkPreview]).toEqual([
      "A",
      true,
      { is_disabled: true },
    ]);
    expect(bot.emulator.edits.map((edit) => edit.text)).toEqual(["A king", "A kingfisher"]);
    const keyboards = [preview?.replyMarkup, ...bot.emulator.edits.map((edit) => edit.replyMarkup)];
    const stop = { text: "Stop", callback_data: expect.stringMatching(/^stop:[\w-]{8}$/) };
    expect(keyboards).toEqual(Array.from({ length: 3 }, () => ({ inline_keyboard: [[stop]] })));
    bot.show({ kind: "over" });
    const [id] = await bot.send(text("A kingfisher."), { to: CHAT });
    await until(() => bot.emulator.deletions.length === 1);
    expect(bot.standing()).toEqual(["A kingfisher."]);
    expect(id).not.toBe(String(preview?.messageId));
    await expect.poll(() => left(bot.state)).toEqual([]);
  });

  it("is edited no more often than every 3.5 s, and in a private chat every 1.5 s", async () => {
    const bot = await setUp();
    const at = async (to: ChatAddress, ms: number): Promise<void> => {
      const shown = bot.draft("A", to, "edit");
      await until(() => bot.emulator.sent.some(({ chatId }) => String(chatId) === to.chat));
      await bot.clock.whenTimer(ms);
      await bot.clock.advance(ms - 1);
      expect(shown.isReady()).toBe(false);
      await bot.clock.advance(1);
      expect(shown.isReady()).toBe(true);
    };
    await at(CHAT, 3_500);
    await at(PRIVATE, 1_500);
    expect(bot.emulator.drafts).toEqual([]);
  });

  it("is typed on while nothing is new", async () => {
    const bot = await setUp();
    await bot.drafted("A king");
    bot.show({ kind: "typing" });
    await until(() => bot.emulator.chatActions.length === 1);
    expect(bot.emulator.edits).toEqual([]);
  });

  it("is not edited once the turn is over, whatever was on its way", async () => {
    const bot = await setUp();
    await bot.drafted("A");
    const { letGo, wait } = gate();
    bot.emulator.on("beforeCommit", ({ method }) => (method === "editMessageText" ? wait : undefined));
    bot.draft("A king");
    await until(() => bot.calls("editMessageText") === 1);
    bot.show({ kind: "over" });
    const sending = bot.send(text("A kingfisher."), { to: CHAT });
    await settle();
    expect([bot.calls("sendMessage"), bot.emulator.deletions]).toEqual([1, []]);
    letGo();
    await sending;
    await until(() => bot.emulator.deletions.length === 1);
    const order = [...bot.emulator.edits.map(({ at }) => at), bot.emulator.sent[1]?.at ?? 0];
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    await bot.clock.advance(60_000);
    expect([bot.calls("editMessageText"), bot.standing()]).toEqual([1, ["A kingfisher."]]);
  });

  it("that was begun as the turn ended is taken away too", async () => {
    const bot = await setUp();
    const { letGo, wait } = gate();
    bot.emulator.on("beforeCommit", ({ method }) => (method === "sendMessage" ? wait : undefined));
    bot.draft("A");
    await until(() => bot.calls("sendMessage") === 1);
    bot.show({ kind: "over" });
    const sending = bot.send(text("A kingfisher."), { to: CHAT });
    letGo();
    await sending;
    await until(() => bot.emulator.deletions.length === 1);
    expect(bot.standing()).toEqual(["A kingfisher."]);
  });

  it("that arrives long after the turn has ended is taken away too", async () => {
    const bot = await setUp();
    const { letGo, wait } = gate();
    bot.emulator.on("beforeCommit", ({ method }) => (method === "sendMessage" ? wait : undefined));
    bot.draft("A");
    await until(() => bot.calls("sendMessage") === 1);
    bot.show({ kind: "over" });
    await bot.clock.advance(6_000);
    letGo();
    await until(() => bot.emulator.deletions.length === 1);
    expect(bot.standing()).toEqual([]);
  });

  it("is not begun while a message is sent to the chat", async () => {
    const bot = await setUp();
    const { letGo, wait } = gate();
    bot.emulator.on("beforeCommit", ({ method }) => (method === "sendMessage" ? wait : undefined));
    const sending = bot.send(text("Status: busy"), { to: CHAT });
    await until(() => bot.calls("sendMessage") === 1);
    bot.draft("A");
    bot.show({ kind: "typing" });
    await settle();
    expect([bot.calls("sendMessage"), bot.calls("sendChatAction")]).toEqual([1, 0]);
    letGo();
    await sending;
    bot.draft("A king");
    await until(() => bot.emulator.sent.length === 2);
    expect(bot.standing()).toEqual(["Status: busy", "A king"]);
  });

  it("goes 5 s after the turn where no answer comes", async () => {
    const bot = await setUp();
    await bot.drafted("A king");
    bot.show({ kind: "over" });
    await bot.clock.advance(4_999);
    expect(bot.emulator.deletions).toEqual([]);
    await bot.clock.advance(1);
    await until(() => bot.emulator.deletions.length === 1);
    expect(bot.standing()).toEqual([]);
  });

  it.each([
    ["is there", false, ["A kingfisher."]],
    ["has failed", true, []],
  ])("waits longer for an answer that is being sent, until it %s", async (_how, fails, stands) => {
    const bot = await setUp();
    await bot.drafted("A king");
    bot.show({ kind: "over" });
    bot.emulator.fault({ method: "sendMessage" }, { kind: "delay", ms: 20_000 });
    if (fails) bot.emulator.closeChat(CREW, "kickedFromSupergroup");
    const sending = bot.send(text("A kingfisher."), { to: CHAT }).catch(() => undefined);
    await until(() => bot.calls("sendMessage") === 2);
    await bot.clock.advance(19_999);
    expect(bot.emulator.deletions).toEqual([]);
    await bot.clock.advance(1);
    await sending;
    await until(() => bot.emulator.deletions.length === 1);
    expect(bot.standing()).toEqual(stands);
  });

  it("stays while an answer to something else is sent", async () => {
    const bot = await setUp();
    await bot.drafted("A king");
    await bot.send(text("Status: busy"), { to: CHAT });
    await settle();
    await settle();
    expect(bot.standing()).toEqual(["A king", "Status: busy"]);
  });

  it("is not begun a second time when it is not known whether it stands there", async () => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessage" }, { kind: "drop", when: "after" });
    const shown = bot.draft("A");
    await until(() => bot.emulator.sent.length === 1);
    while (!shown.isReady()) await bot.clock.advance(500);
    bot.draft("A king");
    await until(() => bot.emulator.chatActions.length === 1);
    expect([bot.calls("sendMessage"), bot.calls("editMessageText")]).toEqual([1, 0]);
    // The next turn begins anew.
    bot.show({ kind: "over" });
    await bot.clock.advance(5_000);
    bot.draft("Next");
    await until(() => bot.calls("sendMessage") === 2);
  });

  it("goes on after an edit that was not answered", async () => {
    const bot = await setUp();
    bot.emulator.fault({ method: "editMessageText" }, { kind: "drop", when: "after" });
    await bot.drafted("A", "A king", "A kingfisher");
    expect(bot.standing()).toEqual(["A kingfisher"]);
  });

  it("is no more shown once somebody has deleted it", async () => {
    const bot = await setUp();
    await bot.drafted("A");
    bot.emulator.fault(
      { method: "editMessageText" },
      { kind: "refuse", code: 400, description: "Bad Request: message to edit not found" },
    );
    await bot.drafted("A king");
    bot.draft("A kingfisher");
    await settle();
    await settle();
    expect([bot.calls("editMessageText"), bot.calls("sendMessage")]).toEqual([1, 1]);
  });

  it("leaves out what Telegram has no time for, and shows the newest after", async () => {
    const bot = await setUp();
    await bot.drafted("A");
    bot.emulator.fault({ method: "editMessageText" }, { kind: "rateLimit", seconds: 18 });
    const shown = bot.draft("A king");
    await until(() => bot.calls("editMessageText") === 1);
    await bot.clock.advance(17_999);
    expect([shown.isReady(), bot.calls("editMessageText")]).toEqual([false, 1]);
    await bot.clock.advance(1_001);
    await until(shown.isReady);
    await bot.drafted("A kingfisher");
    expect(bot.emulator.edits.map((edit) => edit.text)).toEqual(["A kingfisher"]);
  });

  it("has one request on its way in a chat, whatever the topics", async () => {
    const bot = await setUp();
    const forum = bot.emulator.supergroup({ id: -1_002_000_000_002, title: "Boatyard", forum: true });
    const [first, second] = [forum.topic("Rigging", MIRA), forum.topic("Sails", MIRA)].map((topic) => ({
      channel: "family",
      chat: String(forum.chatId),
      topic: String(topic),
    }));
    const { letGo, wait } = gate();
    bot.emulator.on("beforeCommit", ({ method }) => (method === "sendMessage" ? wait : undefined));
    bot.draft("A", first);
    await until(() => bot.calls("sendMessage") === 1);
    const other = bot.draft("B", second);
    await settle();
    expect([bot.calls("sendMessage"), other.isReady()]).toEqual([1, false]);
    letGo();
    await until(other.isReady);
    bot.draft("B", second);
    await until(() => bot.emulator.sent.length === 2);
    expect(bot.emulator.sent.map((sent) => [sent.threadId, sent.text])).toEqual([
      [Number(first?.topic), "A"],
      [Number(second?.topic), "B"],
    ]);
  });
});

describe("the Stop below it", () => {
  it("stops the turn, and nothing once that is over", async () => {
    const bot = await setUp();
    await bot.drafted("A king");
    const [preview] = bot.emulator.sent;
    const message = bot.emulator.message(CREW, preview?.messageId ?? 0);
    const data = JSON.stringify(message?.reply_markup).match(/stop:[\w-]+/)?.[0] ?? "";
    const press = (id: string): void =>
      void bot.emulator.inject({
        callback_query: {
          id,
          from: { id: MIRA.id, is_bot: false, first_name: "Mira" },
          chat_instance: "1",
          data,
          ...(message ? { message } : {}),
        },
      });
    press("1");
    await bot.host.whenAccepted(1);
    bot.show({ kind: "over" });
    press("2");
    bot.mira.sendText("next");
    await bot.host.whenAccepted(2);
    expect(bot.host.accepted.map(({ type }) => type)).toEqual(["stop", "message"]);
  });
});

describe("taking it away", () => {
  it.each<[string, Fault, number]>([
    ["was told to wait", { kind: "rateLimit", seconds: 40 }, 40_000],
    ["was lost", { kind: "drop", when: "before" }, 1_000],
    ["was not answered", { kind: "drop", when: "after" }, 1_000],
  ])("is tried again when it %s", async (_what, fault, waitMs) => {
    const bot = await setUp();
    await bot.drafted("A king");
    bot.emulator.fault({ method: "deleteMessages" }, fault);
    bot.show({ kind: "over" });
    await bot.send(text("A kingfisher."), { to: CHAT });
    await bot.clock.whenTimer(waitMs);
    expect(await left(bot.state)).toHaveLength(1);
    await bot.clock.advance(waitMs);
    await until(() => bot.calls("deleteMessages") === 2);
    await expect.poll(() => left(bot.state)).toEqual([]);
    expect(bot.standing()).toEqual(["A kingfisher."]);
  });

  it("is done when it cannot be done any more", async () => {
    const bot = await setUp();
    await bot.drafted("A king");
    const description = "Bad Request: message can't be deleted for everyone";
    bot.emulator.fault({ method: "deleteMessages" }, { kind: "refuse", code: 400, description });
    bot.show({ kind: "over" });
    await bot.clock.advance(5_000);
    await expect.poll(() => left(bot.state)).toEqual([]);
    expect(bot.calls("deleteMessages")).toBe(1);
  });

  it("is tried once when the connection ends", async () => {
    const bot = await setUp();
    await bot.drafted("A king");
    await bot.channel.close();
    bot.show({ kind: "over" }); // its turn goes on a little longer
    expect([bot.standing(), await left(bot.state), bot.timers()]).toEqual([[], [], 0]);
  });

  it("is done by the next process where one was killed", async () => {
    const bot = await setUp();
    await bot.drafted("A king");
    expect(await left(bot.state)).toEqual([`preview/${CREW}/${bot.emulator.sent[0]?.messageId}`]);
    // A process that is killed does nothing more.
    const fault = bot.emulator.fault({ method: "deleteMessages" }, { kind: "drop", when: "before" });
    await bot.channel.close();
    fault.remove();
    expect(bot.standing()).toEqual(["A king"]);
    const next = await setUp({ emulator: bot.emulator, state: bot.state, clock: bot.clock });
    await until(() => bot.standing().length === 0);
    await expect.poll(() => left(next.state)).toEqual([]);
  });

  it("is done for many in few calls, also past one that is too old", async () => {
    const state = memoryState();
    const ids = Array.from({ length: 250 }, (_, n) => n + 1);
    await state.set(Object.fromEntries(ids.map((id) => [`preview/${CREW}/${id}`, "1"])));
    await state.set({ [`preview/${MIRA.id}/7`]: "1" });
    const description = "Bad Request: message can't be deleted for everyone";
    const bot = await setUp({
      state,
      before: (emulator) => {
        emulator.supergroup({ id: CREW, title: "Crew" });
        emulator.privateChat(MIRA);
        emulator.fault(
          { method: "deleteMessages", chat: CREW, nth: 3 },
          { kind: "refuse", code: 400, description },
        );
      },
    });
    await expect.poll(() => left(state)).toEqual([]);
    expect(bot.calls("deleteMessages")).toBe(54);
  });
});

describe("where it could not be taken away", () => {
  it("a business account's customer sees that we type, and a guest nothing", async () => {
    const bot = await setUp({
      before: (emulator) => void Object.assign(emulator.me, { supports_guest_queries: true }),
    });
    const business = bot.emulator.business({ id: 700_100_009, firstName: "Olga" });
    business.customer({ id: 700_100_010, firstName: "Carl" });
    const customer = { channel: "family", chat: `business:${business.connectionId}:700100010` };
    bot.draft("A king", customer);
    await until(() => bot.emulator.chatActions.length === 1);
    const guest = bot.draft("A king", { channel: "family", chat: "guest:-100", topic: "700" });
    await until(guest.isReady);
    expect([bot.emulator.sent, bot.emulator.drafts, bot.emulator.chatActions.length]).toEqual([[], [], 1]);
  });

  it("nothing is shown in a channel's direct messages", async () => {
    const bot = await setUp();
    const shown = bot.draft("A king", { channel: "family", chat: "-1002000000099", topic: "direct:55" });
    await until(shown.isReady);
    expect(bot.emulator.calls.filter(({ method }) => /^send|^edit/.test(method))).toEqual([]);
  });
});
