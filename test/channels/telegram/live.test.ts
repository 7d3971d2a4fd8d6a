import { afterEach, describe, expect, it } from "vitest";
import { settle } from "../../support/clock.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { gate, type LiveBot, liveBot, type LiveBotOptions, PRIVATE } from "./live-bot.ts";
import { MIRA, text, until } from "./set-up.ts";

const open: LiveBot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

async function setUp(options: LiveBotOptions = {}): Promise<LiveBot> {
  const bot = await liveBot(PRIVATE, options);
  open.push(bot);
  return bot;
}

describe("a draft", () => {
  it("is Telegram's own in a private chat, of one number through a turn, with its Stop", async () => {
    const bot = await setUp();
    await bot.drafted("A king", "A kingfisher");
    bot.show({ kind: "over" });
    await bot.drafted("Another turn");
    const { drafts } = bot.emulator;
    expect(drafts.map((draft) => [draft.text, draft.canStop])).toEqual([
      ["A king", true],
      ["A kingfisher", true],
      ["Another turn", true],
    ]);
    expect(drafts[0]?.draftId).toBe(drafts[1]?.draftId);
    expect(drafts[2]?.draftId).not.toBe(drafts[0]?.draftId);
    expect(drafts.every(({ draftId }) => draftId > 0 && draftId < 2 ** 31)).toBe(true);
    expect(bot.emulator.sent).toEqual([]);
  });

  it("stands in the topic of the chat", async () => {
    const bot = await setUp();
    bot.mira.in(31);
    bot.show({ kind: "draft", text: "here" }, { ...PRIVATE, topic: "31" });
    await until(() => bot.emulator.drafts.length === 1);
    expect(bot.emulator.drafts.map(({ threadId }) => threadId)).toEqual([31]);
  });

  it("is followed by the next after a second, and not before", async () => {
    const bot = await setUp();
    const shown = bot.draft("A king");
    await until(() => bot.emulator.drafts.length === 1);
    await bot.clock.whenTimer(1_000);
    await bot.clock.advance(999);
    expect(shown.isReady()).toBe(false);
    await bot.clock.advance(1);
    expect(shown.isReady()).toBe(true);
  });

  it("is alone on its way: what comes meanwhile is left out, and the newest shown next", async () => {
    const bot = await setUp();
    const { letGo, wait } = gate();
    bot.emulator.on("beforeCommit", ({ method }) => (method === "sendMessageDraft" ? wait : undefined));
    const first = bot.draft("A");
    await until(() => bot.calls("sendMessageDraft") === 1);
    const second = bot.draft("A king");
    await settle();
    expect([bot.calls("sendMessageDraft"), second.isReady()]).toEqual([1, false]);
    letGo();
    await until(second.isReady);
    await bot.clock.whenTimer(1_000);
    await bot.clock.advance(1_000);
    await until(first.isReady);
    bot.show({ kind: "typing" });
    await until(() => bot.emulator.drafts.length === 2);
    expect(bot.emulator.drafts.map((draft) => draft.text)).toEqual(["A", "A king"]);
    expect(bot.emulator.chatActions).toEqual([]);
  });

  it("is not sent again while nothing is new, but before it would fade", async () => {
    const bot = await setUp();
    await bot.drafted("A kingfisher");
    for (let seconds = 1; seconds < 60; seconds += 4) {
      bot.show({ kind: "typing" });
      await settle();
      await settle();
      await bot.clock.advance(4_000);
      expect(bot.emulator.draftIn(MIRA.id)).toBe("A kingfisher");
    }
    expect(bot.emulator.drafts.length).toBeLessThanOrEqual(4);
    expect(bot.emulator.chatActions).toEqual([]);
  });

  it("ends at 4,000 units, between two letters, and what comes after is not shown", async () => {
    const bot = await setUp();
    const long = `${"a".repeat(3_999)}🦊`;
    await bot.drafted(long);
    bot.draft(`${long} and more`);
    await settle();
    await settle();
    expect(bot.emulator.drafts.map((draft) => draft.text)).toEqual(["a".repeat(3_999)]);
  });

  it("is shown as it reads, cut with what marks it", async () => {
    const bot = await setUp();
    const long = "a".repeat(4_010);
    const tree = {
      blocks: [
        { type: "heading", level: 2, inline: [{ type: "text", text: "Birds" }] },
        { type: "paragraph", inline: [{ type: "code", text: long }] },
      ],
    } as const;
    bot.show({ kind: "draft", text: `## Birds\n\n\`${long}\``, tree: () => tree });
    await until(() => bot.emulator.drafts.length === 1);
    const [draft] = bot.emulator.drafts;
    expect(draft?.text).toBe(`Birds\n\n${"a".repeat(3_993)}`);
    expect(draft?.entities).toEqual([
      { type: "bold", offset: 0, length: 5 },
      { type: "code", offset: 7, length: 3_993 },
    ]);
  });

  it.each(["", "  \n"])("of %j is a sign of life alone", async (words) => {
    const bot = await setUp();
    bot.draft(words);
    await until(() => bot.emulator.chatActions.length === 1);
    expect(bot.calls("sendMessageDraft")).toBe(0);
  });

  it("that Telegram finds nothing in is followed by the next", async () => {
    const bot = await setUp();
    await bot.drafted("\u2800", "A king");
    expect(bot.emulator.draftIn(MIRA.id)).toBe("A king");
  });

  it("is gone when the answer stands there, which is a message of its own", async () => {
    const bot = await setUp();
    await bot.drafted("A king");
    bot.show({ kind: "over" });
    await bot.send(text("A kingfisher."));
    expect(bot.emulator.draftIn(MIRA.id)).toBeUndefined();
    expect(bot.emulator.shown(MIRA.id).map((message) => message.text)).toEqual(["A kingfisher."]);
    await bot.clock.advance(60_000);
    expect([bot.emulator.edits, bot.emulator.deletions]).toEqual([[], []]);
  });

  it("that is on its way is waited for by the answer", async () => {
    const bot = await setUp();
    const { letGo, wait } = gate();
    bot.emulator.on("beforeCommit", ({ method }) => (method === "sendMessageDraft" ? wait : undefined));
    bot.draft("A king");
    await until(() => bot.calls("sendMessageDraft") === 1);
    bot.show({ kind: "over" });
    const sending = bot.send(text("A kingfisher."));
    await settle();
    expect(bot.calls("sendMessage")).toBe(0);
    letGo();
    await sending;
    expect(bot.emulator.draftIn(MIRA.id)).toBeUndefined();
  });

  it("that hangs holds the answer up no longer than 10 s", async () => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessageDraft" }, { kind: "silence", when: "before" });
    bot.draft("A king");
    await until(() => bot.calls("sendMessageDraft") === 1);
    const sending = bot.send(text("A kingfisher."));
    await bot.clock.advance(10_000);
    await sending;
    expect(bot.emulator.sent.map((sent) => sent.text)).toEqual(["A kingfisher."]);
  });

  it("comes after nothing once the turn is over", async () => {
    const bot = await setUp();
    const shown = bot.draft("A king");
    await until(() => bot.emulator.drafts.length === 1);
    bot.show({ kind: "over" });
    await until(shown.isReady);
    await bot.clock.advance(60_000);
    expect(bot.calls("sendMessageDraft")).toBe(1);
  });

  it.each<[string, Fault]>([
    ["was lost", { kind: "drop", when: "before" }],
    ["was not answered", { kind: "drop", when: "after" }],
    ["met a server in trouble", { kind: "html", status: 502, when: "after" }],
  ])("that %s is followed by the next", async (_what, fault) => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessageDraft" }, fault);
    await bot.drafted("A king", "A kingfisher");
    expect(bot.emulator.draftIn(MIRA.id)).toBe("A kingfisher");
    expect(bot.host.logged).toEqual([]);
  });

  it("waits as long as Telegram asks, and then the newest is shown; a message may go no sooner", async () => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessageDraft" }, { kind: "rateLimit", seconds: 30 });
    const shown = bot.draft("A");
    await until(() => bot.calls("sendMessageDraft") === 1);
    await settle();
    await settle();
    const readyAt = bot.channel.readyAt?.(PRIVATE) ?? 0;
    expect(readyAt - bot.clock.now()).toBeGreaterThanOrEqual(30_000);
    await bot.clock.advance(29_999);
    bot.show({ kind: "typing" });
    await settle();
    expect([shown.isReady(), bot.calls("sendMessageDraft"), bot.calls("sendChatAction")]).toEqual([
      false,
      1,
      0,
    ]);
    await bot.clock.advance(1_001);
    await until(shown.isReady);
    await bot.drafted("A kingfisher");
    expect(bot.emulator.drafts.map((draft) => draft.text)).toEqual(["A kingfisher"]);
  });

  it("waits behind messages that took all the room there is", async () => {
    const bot = await setUp();
    await bot.send(text("one"));
    await bot.send(text("two"));
    const shown = bot.draft("A king");
    await settle();
    expect(bot.calls("sendMessageDraft")).toBe(0);
    await bot.clock.advance(1_000);
    await until(shown.isReady);
    await bot.drafted("A kingfisher");
    expect(bot.emulator.drafts.map((draft) => draft.text)).toEqual(["A kingfisher"]);
  });
});

describe("a chat that takes no drafts", () => {
  it.each<[string, (bot: LiveBot) => void]>([
    ["refuses them", (bot) => bot.emulator.refuseDrafts(MIRA.id)],
    [
      "has a server that does not know them",
      (bot) =>
        void bot.emulator.fault(
          { method: "sendMessageDraft" },
          { kind: "refuse", code: 404, description: "Not Found: method not found" },
        ),
    ],
  ])("because it %s is shown a message at once, and asked no more", async (_why, refuse) => {
    const bot = await setUp();
    refuse(bot);
    bot.draft("A king");
    await until(() => bot.emulator.sent.length === 1);
    expect(bot.emulator.sent.map((sent) => [sent.text, sent.silent])).toEqual([["A king", true]]);
    bot.show({ kind: "over" });
    await bot.send(text("A kingfisher."));
    await bot.clock.advance(3_000);
    bot.draft("And");
    await until(() => bot.emulator.sent.length === 3);
    expect(bot.calls("sendMessageDraft")).toBe(1);
  });
});

describe("Telegram's own Stop", () => {
  it("stops the turn that is shown, and no other once that is over", async () => {
    const bot = await setUp();
    await bot.drafted("A king");
    const draftId = bot.emulator.drafts[0]?.draftId ?? 0;
    bot.mira.stopDraft(draftId);
    await bot.host.whenAccepted(1);
    expect(bot.host.accepted.map(({ type }) => type)).toEqual(["stop"]);
    bot.show({ kind: "over" });
    // Pressed twice, and handed over late.
    const chat = { id: MIRA.id, type: "private" as const, first_name: "Mira" };
    bot.emulator.inject({ stopped_message_generation: { chat, draft_id: draftId } });
    bot.mira.sendText("next");
    await bot.host.whenAccepted(2);
    expect(bot.host.accepted.map(({ type }) => type)).toEqual(["stop", "message"]);
  });

  it("of a turn before a restart is passed on", async () => {
    const bot = await setUp();
    const chat = { id: MIRA.id, type: "private" as const, first_name: "Mira" };
    bot.emulator.inject({ stopped_message_generation: { chat, draft_id: 77 } });
    await bot.host.whenAccepted(1);
    expect(bot.host.accepted.map(({ type }) => type)).toEqual(["stop"]);
  });
});
