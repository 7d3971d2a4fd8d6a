import { afterEach, describe, expect, it } from "vitest";
import type { MediaBlock } from "../../../src/core/blocks.ts";
import type { KnownAround, MediaItem, Piece, PieceBody, Whereabouts } from "../../../src/core/channel.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { jpeg, png } from "../../support/telegram/pictures.ts";
import { type LiveBot, liveBot, PRIVATE } from "./live-bot.ts";
import { type Bot, MIRA, text, until } from "./set-up.ts";

const open: LiveBot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

type World = LiveBot & {
  find(
    body: PieceBody,
    known: KnownAround,
    more?: Partial<Piece> & { readonly form?: string },
  ): Promise<Whereabouts>;
  /** A message of Mira's, whose id is known. */
  knows(): string;
};

async function setUp(): Promise<World> {
  const bot = await liveBot(PRIVATE);
  open.push(bot);
  return {
    ...bot,
    async find(body, known, { form, ...more } = {}) {
      const piece = { id: 1, to: PRIVATE, body, ...more };
      const attempt = { number: 1, ...(form === undefined ? {} : { form }) };
      const finding = bot.channel.find?.(piece, attempt, known, new AbortController().signal);
      if (!finding) throw new Error("the channel finds nothing");
      let outcome: PromiseSettledResult<Whereabouts> | undefined;
      void Promise.allSettled([finding]).then(([settled]) => (outcome = settled));
      await bot.eventually(() => outcome !== undefined); // it keeps the pace of the chat
      return await finding;
    },
    knows: () => String(bot.mira.sendText("…").message_id),
  };
}

const edits = (bot: Bot): number =>
  bot.emulator.calls.filter(({ method }) => method.startsWith("edit")).length;
const ASKS: PieceBody = { ...text("Which one?"), choices: [{ label: "Yes", key: "key00000" }] } as PieceBody;

describe("a text whose answer was lost", () => {
  it.each<[string, PieceBody, string]>([
    ["plain", text("A kingfisher."), ""],
    [
      "marked",
      { kind: "text", rendered: { text: "A bird", marks: [{ type: "bold", offset: 2, length: 4 }] } },
      "",
    ],
    ["with buttons", ASKS, ""],
    ["in a simpler form", ASKS, "bare"],
  ])("%s is found between what is known, and stays as it is", async (_what, body, form) => {
    const bot = await setUp();
    const before = [bot.knows()];
    const [id = ""] = await bot.send(body, form === "" ? {} : { form });
    const after = [bot.knows()];
    const shown = bot.emulator.shown(MIRA.id);
    expect(await bot.find(body, { before, after }, form === "" ? {} : { form })).toEqual({
      kind: "found",
      ids: [id],
    });
    expect(bot.emulator.shown(MIRA.id)).toEqual(shown);
    expect(bot.emulator.edits).toEqual([]);
  });

  it("is absent when everything there is another's or gone", async () => {
    const bot = await setUp();
    const before = [bot.knows()];
    bot.knows();
    const [id = ""] = await bot.send(text("Another."));
    await bot.channel.takeBack?.(PRIVATE, [id], new AbortController().signal);
    const after = [bot.knows()];
    expect(await bot.find(text("A kingfisher."), { before, after })).toEqual({ kind: "absent" });
    expect(edits(bot)).toBe(2);
  });

  it("is absent where nothing lies between", async () => {
    const bot = await setUp();
    const [before, after] = [[bot.knows()], [bot.knows()]];
    expect(await bot.find(text("A kingfisher."), { before, after })).toEqual({ kind: "absent" });
    expect(edits(bot)).toBe(0);
  });

  it("takes the place of a message of ours that nobody knows of", async () => {
    const bot = await setUp();
    const before = [bot.knows()];
    const [id = ""] = await bot.send(text("A king"));
    const after = [bot.knows()];
    expect(await bot.find(text("A kingfisher."), { before, after })).toEqual({ kind: "found", ids: [id] });
    expect(bot.emulator.shown(MIRA.id).map((message) => message.text)).toEqual(["…", "A kingfisher.", "…"]);
  });

  it("is not looked for outside of the nearest ids that are known", async () => {
    const bot = await setUp();
    const [early = ""] = await bot.send(text("A kingfisher."));
    const near = bot.knows();
    bot.knows();
    const next = bot.knows();
    await bot.send(text("A kingfisher."));
    const known = { before: [early, near], after: [next, "9999"] };
    expect(await bot.find(text("A kingfisher."), known)).toEqual({ kind: "absent" });
    expect(edits(bot)).toBe(1);
  });

  it.each<[string, KnownAround]>([
    ["nothing is known before", { before: [], after: ["9"] }],
    ["nothing is known after", { before: ["9"], after: [] }],
    ["more than 20 lie between", { before: ["9"], after: ["31"] }],
    ["they are not in order", { before: ["9"], after: ["8"] }],
    ["they are no numbers", { before: ["guest1"], after: ["guest2"] }],
  ])("is unknown when %s, and Telegram is not asked", async (_why, known) => {
    const bot = await setUp();
    expect(await bot.find(text("A kingfisher."), known)).toEqual({ kind: "unknown" });
    expect(edits(bot)).toBe(0);
  });

  it("is asked for under 20 ids at most, no faster than messages go", async () => {
    const bot = await setUp();
    const start = bot.clock.now();
    expect(await bot.find(text("A kingfisher."), { before: ["9"], after: ["30"] })).toEqual({
      kind: "absent",
    });
    expect(edits(bot)).toBe(20);
    expect(bot.clock.now() - start).toBeGreaterThanOrEqual(17_000);
  });

  it("is not taken for what shows an answer while it is written", async () => {
    const bot = await setUp();
    const before = [bot.knows()];
    bot.draft("A king", PRIVATE, "edit");
    await until(() => bot.emulator.sent.length === 1);
    const after = [bot.knows()];
    expect(await bot.find(text("A kingfisher."), { before, after })).toEqual({ kind: "absent" });
    expect(bot.emulator.shown(MIRA.id).map((message) => message.text)).toEqual(["…", "A king", "…"]);
  });

  it("is unknown where Telegram says something else", async () => {
    const bot = await setUp();
    const [before, , after] = [[bot.knows()], bot.knows(), [bot.knows()]];
    bot.emulator.fault(
      { method: "editMessageText" },
      { kind: "refuse", code: 400, description: "Bad Request: SOMETHING_NEW" },
    );
    expect(await bot.find(text("A kingfisher."), { before, after })).toEqual({ kind: "unknown" });
  });

  it.each<[Fault, object]>([
    [
      { kind: "rateLimit", seconds: 35 },
      { code: "send.rate_limited", retryAfterMs: 35_000 },
    ],
    [{ kind: "drop", when: "before" }, { code: "send.not_written" }],
    [{ kind: "html", status: 502, when: "after" }, { code: "send.not_written" }],
    [
      { kind: "refuse", code: 403, description: "Forbidden: bot was blocked by the user" },
      { code: "send.chat_closed" },
    ],
  ])("cannot be asked for now: %j", async (fault, error) => {
    const bot = await setUp();
    const [before, , after] = [[bot.knows()], bot.knows(), [bot.knows()]];
    bot.emulator.fault({ method: "editMessageText" }, fault);
    await expect(bot.find(text("A kingfisher."), { before, after })).rejects.toMatchObject(error);
  });

  it("that took another's place is looked for there alone", async () => {
    const bot = await setUp();
    const [id = ""] = await bot.send(text("before"));
    bot.knows();
    const known = { before: [], after: [] };
    expect(await bot.find(text("after"), known, { replaces: id })).toEqual({ kind: "found", ids: [id] });
    expect(await bot.find(text("after"), known, { replaces: "999" })).toEqual({ kind: "absent" });
    expect(await bot.find(text("after"), known, { replaces: id, form: "new" })).toEqual({ kind: "unknown" });
  });

  it("is not looked for where others' words could be edited: a channel, its direct messages, a business account", async () => {
    const bot = await setUp();
    const posts = bot.emulator.channel({ id: -1_001_700_000_001, title: "Tides" });
    posts.directMessages(-1_001_700_000_002).as(MIRA).sendText("…");
    const author = posts.author();
    const [before, , after] = ["High at four.", "The harbour is closed.", "Low at ten."].map((words) =>
      author.sendText(words),
    );
    const known = { before: [String(before!.message_id)], after: [String(after!.message_id)] };
    for (const chat of ["-1001700000001", "-1001700000002", "business:abc:700100010"]) {
      const to = { channel: "family", chat };
      expect(await bot.find(text("A kingfisher."), known, { to })).toEqual({ kind: "unknown" });
    }
    expect(edits(bot)).toBe(0);
  });

  it("is looked for in a supergroup, and not where Telegram does not tell what the chat is", async () => {
    const bot = await setUp();
    const group = bot.emulator.supergroup({ id: -1_001_700_000_003, title: "Crew" });
    const to = { channel: "family", chat: "-1001700000003" };
    const first = group.as(MIRA).sendText("…");
    const [id = ""] = await bot.send(text("A kingfisher."), { to });
    const known = { before: [String(first.message_id)], after: [String(Number(id) + 1)] };
    const fault: Fault = { kind: "refuse", code: 400, description: "Bad Request: SOMETHING_NEW" };
    const refused = bot.emulator.fault({ method: "getChat" }, fault);
    expect(await bot.find(text("A kingfisher."), known, { to })).toEqual({ kind: "unknown" });
    expect([refused.hits(), edits(bot)]).toEqual([1, 0]);
    expect(await bot.find(text("A kingfisher."), known, { to })).toEqual({ kind: "found", ids: [id] });
  });

  it("is looked for past what came later about an older message", async () => {
    const bot = await setUp();
    const [old, before] = [bot.knows(), bot.knows()];
    const [id = ""] = await bot.send(text("A kingfisher."));
    const after = [old, bot.knows()];
    expect(await bot.find(text("A kingfisher."), { before: [before], after })).toEqual({
      kind: "found",
      ids: [id],
    });
  });

  it("in a guest's chat is unknown", async () => {
    const bot = await setUp();
    const to = { channel: "family", chat: "guest:-100", topic: "7" };
    expect(await bot.find(text("a"), { before: ["1"], after: ["3"] }, { to })).toEqual({ kind: "unknown" });
  });
});

describe("media whose answer was lost", () => {
  const media = (bot: Bot, bytes: Uint8Array): MediaBlock => ({
    type: "image",
    mimeType: "image/jpeg",
    blob: bot.host.putBlob(bytes),
    bytes: bytes.length,
  });
  const CAPTION = { text: "a bird", marks: [{ type: "italic", offset: 2, length: 4 }] };
  const picture = (bot: Bot, more: Partial<MediaItem> = {}): PieceBody => ({
    kind: "media",
    as: "image",
    media: media(bot, jpeg(4, 3)),
    ...more,
  });

  it.each<[string, Partial<MediaItem>]>([
    ["with its caption", { caption: CAPTION }],
    ["without a caption", {}],
  ])("are found %s", async (_how, more) => {
    const bot = await setUp();
    const before = [bot.knows()];
    bot.knows();
    const [id = ""] = await bot.send(picture(bot, more));
    const after = [bot.knows()];
    expect(await bot.find(picture(bot, more), { before, after })).toEqual({ kind: "found", ids: [id] });
    expect(bot.emulator.edits).toEqual([]);
  });

  it("are not taken for a text of ours", async () => {
    const bot = await setUp();
    const before = [bot.knows()];
    await bot.send(text("A kingfisher."));
    const after = [bot.knows()];
    expect(await bot.find(picture(bot), { before, after })).toEqual({ kind: "absent" });
    expect(bot.emulator.shown(MIRA.id).map((message) => message.text)).toEqual(["…", "A kingfisher.", "…"]);
  });

  it("are unknown when another caption stands below what is there", async () => {
    const bot = await setUp();
    const before = [bot.knows()];
    await bot.send(picture(bot, { caption: { text: "another", marks: [] } }));
    const after = [bot.knows()];
    expect(await bot.find(picture(bot, { caption: CAPTION }), { before, after })).toEqual({
      kind: "unknown",
    });
  });

  it("of an album are found when all of them are there", async () => {
    const bot = await setUp();
    const items: MediaItem[] = [
      { as: "image", media: media(bot, jpeg(4, 3)), caption: CAPTION },
      { as: "image", media: media(bot, png(4, 3)) },
      { as: "image", media: media(bot, png(5, 3)), caption: { text: "the third", marks: [] } },
    ];
    const album: PieceBody = { kind: "album", items };
    const before = [bot.knows()];
    const ids = await bot.send(album);
    const after = [bot.knows()];
    expect(await bot.find(album, { before, after })).toEqual({ kind: "found", ids });
    await bot.channel.takeBack?.(PRIVATE, ids.slice(2), new AbortController().signal);
    expect(await bot.find(album, { before, after })).toEqual({ kind: "unknown" });
    expect(bot.emulator.edits).toEqual([]);
  });
});
