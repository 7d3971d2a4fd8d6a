import { afterEach, describe, expect, it } from "vitest";
import type { Whereabouts } from "../../../src/core/channel.ts";
import type { ChannelState } from "../../../src/core/host.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { type LiveBot, liveBot, type LiveBotOptions, PRIVATE } from "./live-bot.ts";
import { MIRA, text, until } from "./set-up.ts";

const open: LiveBot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

type World = LiveBot & {
  /** Mira says something, which the bot has taken in; its id. */
  says(words: string): Promise<string>;
  /** Begins to show an answer in a message, and meets this. */
  lose(fault: Fault): Promise<void>;
  over(): void;
  /** The texts in the chat. */
  standing(): readonly (string | undefined)[];
};

async function setUp(options: LiveBotOptions = {}): Promise<World> {
  const bot = await liveBot(PRIVATE, options);
  open.push(bot);
  let heard = 0;
  return {
    ...bot,
    async says(words) {
      const { message_id } = bot.mira.sendText(words);
      heard += 1;
      await bot.host.whenAccepted(heard);
      return String(message_id);
    },
    async lose(fault) {
      const placed = bot.emulator.fault({ method: "sendMessage" }, fault);
      bot.draft("A king", PRIVATE, "edit");
      await until(() => placed.hits() === 1);
      await bot.clock.whenTimer(1_500); // its outcome is known to be unknown
    },
    over: () => void bot.show({ kind: "over" }),
    standing: () => bot.emulator.shown(MIRA.id).map((message) => message.text),
  };
}

const remembered = async (state: ChannelState): Promise<number> =>
  (await state.list("preview/", { limit: 9 })).length;
const probes = (bot: LiveBot): readonly unknown[] =>
  bot.emulator.calls.flatMap(({ method, parameters }) =>
    method === "editMessageReplyMarkup" ? [parameters["message_id"]] : [],
  );
const DROPPED: Fault = { kind: "drop", when: "after" };

describe("a half answer whose sending was not answered", () => {
  it("is found by its button and taken away once the answer stands behind it", async () => {
    const bot = await setUp();
    await bot.says("Which bird is this?");
    await bot.lose(DROPPED);
    expect(bot.standing()).toEqual(["Which bird is this?", "A king"]);
    bot.over();
    const [id] = await bot.send(text("A kingfisher."));
    await bot.eventually(async () => (await remembered(bot.state)) === 0);
    expect(bot.standing()).toEqual(["Which bird is this?", "A kingfisher."]);
    expect(probes(bot)).toEqual([Number(id) - 1]);
    expect(bot.emulator.edits).toEqual([]);
  });

  it("is found between messages of other chats, whose numbers are of one row with it", async () => {
    const bot = await setUp();
    const other = bot.emulator.privateChat({ id: 5, firstName: "Ada" });
    await bot.says("Which bird is this?");
    other.sendText("hello");
    await bot.host.whenAccepted(2);
    await bot.lose(DROPPED);
    const [id] = await bot.send(text("Hello, Ada"), { to: { channel: "family", chat: "5" } });
    await bot.eventually(async () => (await remembered(bot.state)) === 0);
    expect(probes(bot)).toEqual([Number(id) - 1]);
    expect(bot.standing()).toEqual(["Which bird is this?"]);
  });

  it("is looked for in vain where it never arrived", async () => {
    const bot = await setUp();
    await bot.says("Which bird is this?");
    await bot.lose({ kind: "html", status: 502, when: "before" });
    await bot.says("Hello?");
    bot.over();
    await bot.send(text("A kingfisher."));
    await bot.eventually(async () => (await remembered(bot.state)) === 0);
    expect(bot.standing()).toEqual(["Which bird is this?", "Hello?", "A kingfisher."]);
    expect(probes(bot)).toHaveLength(1);
  });

  it("is not looked for among more than 20", async () => {
    const bot = await setUp();
    await bot.says("Which bird is this?");
    await bot.lose(DROPPED);
    for (let n = 0; n < 20; n += 1) bot.mira.sendText("Hello?");
    await bot.send(text("A kingfisher."));
    await bot.eventually(async () => (await remembered(bot.state)) === 0);
    expect(probes(bot)).toEqual([]);
  });

  it.each<[string, Fault, number]>([
    ["asks to wait", { kind: "rateLimit", seconds: 20 }, 20_000],
    ["does not answer", DROPPED, 1_000],
  ])("is looked for again when Telegram %s", async (_what, fault, waitMs) => {
    const bot = await setUp();
    await bot.says("Which bird is this?");
    await bot.lose(DROPPED);
    bot.over();
    bot.emulator.fault({ method: "editMessageReplyMarkup" }, fault);
    await bot.send(text("A kingfisher."));
    await bot.send(text("It is blue."));
    const sentAt = bot.clock.now();
    await bot.eventually(async () => (await remembered(bot.state)) === 0);
    expect(bot.clock.now() - sentAt).toBeGreaterThanOrEqual(waitMs);
    expect(bot.standing()).toEqual(["Which bird is this?", "A kingfisher.", "It is blue."]);
    expect(probes(bot)).toHaveLength(2);
  });

  it("leaves no button below a message that nobody knew of", async () => {
    const bot = await setUp();
    await bot.says("Which bird is this?");
    await bot.lose({ kind: "html", status: 502, when: "before" });
    bot.emulator.fault({ method: "sendMessage" }, DROPPED);
    await bot.send(text("A kingfisher.")).catch(() => undefined); // it is not known to stand there
    await bot.send(text("(sent again)"));
    await bot.eventually(async () => (await remembered(bot.state)) === 0);
    expect(probes(bot)).toHaveLength(2); // with the button, and without it again
    expect(bot.emulator.shown(MIRA.id).filter((message) => "reply_markup" in message)).toEqual([]);
  });

  it("is not looked for in a channel, where its button could come below another's post", async () => {
    const bot = await setUp();
    const to = { channel: "family", chat: "-1001700000001" };
    const posts = bot.emulator.channel({ id: -1_001_700_000_001, title: "Tides" });
    posts.author().sendText("High at four.");
    await bot.send(text("I am here."), { to });
    const placed = bot.emulator.fault({ method: "sendMessage" }, { kind: "drop", when: "before" });
    bot.draft("A king", to);
    await until(() => placed.hits() === 1);
    await bot.clock.whenTimer(3_500); // its outcome is known to be unknown
    posts.author().sendText("Low at ten.");
    bot.show({ kind: "over" }, to);
    await bot.send(text("A kingfisher."), { to });
    await bot.eventually(async () => (await remembered(bot.state)) === 0);
    expect(probes(bot)).toEqual([]);
  });

  it("is not taken for the answer, nor the answer for it, when both are looked for", async () => {
    const bot = await setUp();
    const before = [await bot.says("Which bird is this?")];
    await bot.lose(DROPPED);
    bot.over();
    bot.emulator.fault({ method: "sendMessage" }, DROPPED);
    await bot.send(text("A kingfisher.")).catch(() => undefined);
    const after = [await bot.says("Hello?")];
    const piece = { id: 1, to: PRIVATE, body: text("A kingfisher.") };
    const finding = bot.channel.find?.(piece, { number: 1 }, { before, after }, new AbortController().signal);
    let found: unknown;
    void finding?.then((where) => (found = where));
    await bot.eventually(() => found !== undefined);
    const answer = bot.emulator.shown(MIRA.id).find((message) => message.text === "A kingfisher.");
    expect(found).toEqual({ kind: "found", ids: [String(answer?.message_id)] });
    await bot.eventually(async () => (await remembered(bot.state)) === 0);
    expect(bot.standing()).toEqual(["Which bird is this?", "A kingfisher.", "Hello?"]);
    expect(answer).not.toHaveProperty("reply_markup");
  });

  it("is not looked for where an answer was found", async () => {
    const bot = await setUp();
    const before = [await bot.says("Which bird is this?")];
    await bot.lose({ kind: "html", status: 502, when: "before" });
    bot.over();
    bot.emulator.fault({ method: "sendMessage" }, DROPPED);
    await bot.send(text("A kingfisher.")).catch(() => undefined);
    const after = [await bot.says("Hello?")];
    const piece = { id: 1, to: PRIVATE, body: text("A kingfisher.") };
    const finding = bot.channel.find?.(piece, { number: 1 }, { before, after }, new AbortController().signal);
    let found: Whereabouts | undefined;
    void finding?.then((where) => (found = where));
    await bot.eventually(() => found !== undefined);
    const probed = probes(bot).length;
    await bot.send(text("It is blue."));
    await bot.eventually(async () => (await remembered(bot.state)) === 0);
    const ids = found?.kind === "found" ? found.ids.map(Number) : [];
    expect(ids).toHaveLength(1);
    expect(probes(bot).slice(probed)).not.toContain(ids[0]);
  });

  it("is taken away by the next process where one was killed before it was answered", async () => {
    const bot = await setUp();
    await bot.says("Which bird is this?");
    const answerNoMore = bot.emulator.on("afterCommit", ({ method }) =>
      method === "sendMessage" ? new Promise<void>(() => undefined) : undefined,
    );
    bot.draft("A king", PRIVATE, "edit");
    await until(() => bot.emulator.sent.length === 1);
    expect(await bot.state.list("preview/", { limit: 9 })).toEqual([
      [expect.stringMatching(/^preview\/700100001\/stop:[\w-]{8}$/), "1"],
    ]);
    await bot.channel.close();
    answerNoMore();
    const { emulator, state, clock } = bot;
    const next = await setUp({ emulator, state, clock });
    expect(next.standing()).toEqual(["Which bird is this?", "A king"]);
    await next.send(text("A kingfisher."));
    await next.eventually(async () => (await remembered(state)) === 0);
    expect(next.standing()).toEqual(["Which bird is this?", "A kingfisher."]);
  });
});
