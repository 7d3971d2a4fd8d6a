import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/core/agent.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import { isNamed } from "../../src/intake/named.ts";
import { queued, storyOf } from "../../src/store/queue.ts";
import { manualClock, settle } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";
import { ToyPlatform } from "../support/toy-channel.ts";

describe("a name in what was said", () => {
  it.each([
    ["Hey Perch, what is the tide?", ["perch"], true],
    ["PERCH!", ["perch"], true],
    ["perch", ["Pérch"], true],
    ["salut, pérch…", ["perch"], true],
    ["Perch's turn", ["perch"], true],
    ["ask perch.It knows", ["perch"], true],
    ["a perching bird", ["perch"], false],
    ["superperch", ["perch"], false],
    ["perch2", ["perch"], false],
    ["hey, old  friend", ["Old Friend"], true],
    ["old and friend", ["old friend"], false],
    ["the second", ["first", "second"], true],
    ["Straße", ["strasse"], true],
    ["Окунь, привет", ["окунь"], true],
    ["окунька", ["окунь"], false],
    ["ねえパーチさん、元気？", ["パーチ"], true],
    ["你好小鲈今天天气怎么样", ["小鲈"], true],
    ["퍼치야 안녕", ["퍼치"], true],
    ["สวัสดีเพิร์ชวันนี้", ["เพิร์ช"], true],
    ["anything", ["!", "\u0301"], false],
    ["سلام بیرچ", ["بیرچ"], true],
    ["perch", [], false],
    ["", ["perch"], false],
  ])("in %j, of %j: %s", (text, names, called) => {
    expect(isNamed(text, names)).toBe(called);
  });

  it.each(["perching ", "perching"])("is looked for in megabytes of %j without holding up others", (said) => {
    expect(isNamed(said.repeat(200_000), ["perch"])).toBe(false); // in squared time this takes many minutes
  });
});

const VOICE = await readFile(join(import.meta.dirname, "../fixtures/media/voice_known.ogg"));
const GROUP = { chat: "g1", kind: "group" } as const;

/** Whoever listens writes down what stands here. */
const hears = (words: string): AgentDefinition => ({
  ...AGENT,
  transcriber: { use: "command", command: [process.execPath, "-p", JSON.stringify(words)] },
});

const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

async function setUp(
  words: string,
  options: TestGatewayOptions = {},
): Promise<TestGateway & { clock: ReturnType<typeof manualClock> }> {
  const clock = manualClock();
  const platform = options.platform ?? new ToyPlatform();
  platform.files.set("v", () => bytesOf(VOICE));
  const gateway = await testGateway({
    clock,
    platform,
    agents: [hears(words)],
    rules: { names: ["perch"] },
    ...options,
  });
  opened.push(gateway);
  return { ...gateway, clock };
}

async function* bytesOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

const voice = (label = "voice note"): MessageEvent["content"] => [
  { type: "unfetched", kind: "audio", ref: "v", declared: { label, durationSeconds: 3 } },
];
const ASIDE = { place: GROUP, addressed: false } as const;

/** Somebody sends a voice note into the group that speaks to nobody in particular. */
const speak = (at: TestGateway, more: Partial<MessageEvent> = {}): Promise<MessageEvent> =>
  at.platform.say("g1", voice(), { ...ASIDE, ...more });

async function stateOf({ database }: TestGateway, id = 1): Promise<string> {
  const story = await storyOf(database, id);
  return `${story?.state}${story?.why === "" ? "" : `: ${story?.why}`}`;
}

/** Resolves when what is listened to is decided; a program that listens takes real time. */
async function decided(at: TestGateway, id = 1): Promise<string> {
  for (;;) {
    const state = await stateOf(at, id);
    if (state !== "listening") return state;
    await settle();
  }
}

describe("a voice note in a group", () => {
  it("is answered like a mention where somebody calls the agent in it", async () => {
    const at = await setUp("Hey Perch, what is the tide?");
    await speak(at);
    expect(await stateOf(at)).toBe("listening");
    expect(await queued(at.database)).toMatchObject([{ id: 1, state: "listening" }]);
    expect(await decided(at)).toBe("waiting");
    await at.clock.advance(2_000);
    await at.platform.until((shown) => shown.length >= 1);
    expect(at.asked.map(textOf)).toEqual(["[from Ada (1)] <audio>"]);
    expect(at.platform.shown[0]?.replyTo).toBe("m1");
    expect((await storyOf(at.database, 1))?.steps.map(({ step }) => step)).toEqual([
      "listening for a name",
      "called by name",
      "claimed",
      "consumed",
    ]);
  });

  it("is let be where nobody is called: no turn, no word, no sign of life, and nothing of it is kept", async () => {
    const at = await setUp("nice weather today");
    await speak(at);
    expect(await decided(at)).toBe("refused: not addressed");
    await at.clock.advance(60_000);
    expect([at.asked, at.platform.shown, at.platform.progress]).toEqual([[], [], []]);
    const rows = await at.database.db.selectFrom("inbox").select(["payload", "ended_at"]).execute();
    expect(rows).toEqual([{ payload: "", ended_at: expect.any(Number) }]);
    expect(await at.database.db.selectFrom("attachment").select(["blocks", "outcome"]).execute()).toEqual([
      { blocks: "", outcome: "transcribed" },
    ]);
    expect((await storyOf(at.database, 1))?.steps.at(-1)).toMatchObject({
      step: "refused",
      why: "not addressed",
    });
    await expect(readFile(join(at.folder, "chats/1/uploads"))).rejects.toMatchObject({ code: "ENOENT" });
    expect(JSON.stringify(at.logged)).not.toContain("weather");
  });

  it("is let be in silence where it cannot be had", async () => {
    const at = await setUp("Perch!");
    at.platform.files.delete("v");
    await speak(at);
    await at.clock.whenTimer(2_000);
    await at.clock.advance(2_000);
    expect(await decided(at)).toBe("refused: not addressed");
    await at.clock.advance(60_000);
    expect([at.asked, at.platform.shown]).toEqual([[], []]);
  });

  it.each<[string, Partial<MessageEvent>, TestGatewayOptions]>([
    ["without names", {}, { rules: {} }],
    ["without somebody who listens", {}, { agents: [AGENT] }],
    ["where the group is set to none", {}, { rules: { names: ["perch"], chats: { g1: { when: "none" } } } }],
    ["from a stranger", { from: { id: "eve", name: "Eve" } }, {}],
    ["that somebody else has spoken", { forward: { from: "Tom" } }, {}],
    ["that is an item of an album", { albumId: "a" }, {}],
    ["that is music", { content: voice("song") }, {}],
  ])("is not listened to %s", async (_where, message, options) => {
    const at = await setUp("Perch!", options);
    await speak(at, message);
    expect(await stateOf(at)).toMatch(/^refused: /);
    expect(await at.database.db.selectFrom("attachment").selectAll().execute()).toEqual([]);
  });

  it("holds up nobody and joins nobody while it is listened to", async () => {
    const at = await setUp("Perch?");
    let arrive = (): void => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    at.platform.files.set("v", () =>
      (async function* () {
        await arrived;
        yield VOICE;
      })(),
    );
    await speak(at);
    await at.platform.say("g1", "bot, one", { place: GROUP });
    await at.platform.say("g1", "bot, two", { place: GROUP, from: { id: "bob", name: "Bob" } });
    await at.clock.advance(1_000);
    await at.platform.until((shown) => shown.length >= 2);
    expect(at.asked.map(textOf)).toEqual(["[from Ada (1)] bot, one", "[from Bob (2)] bot, two"]);
    arrive();
    expect(await decided(at)).toBe("waiting");
    await at.clock.advance(2_000);
    await at.platform.until((shown) => shown.length >= 3);
    expect(textOf(at.asked[2]!)).toBe("[from Ada (1)] <audio>");
  });

  it("brings along what it answers once it is for us, and not before", async () => {
    const at = await setUp("Perch, what is this?");
    let fetched = 0;
    at.platform.files.set("p", () => {
      fetched += 1;
      return bytesOf(Buffer.from("a text"));
    });
    const media = [{ type: "unfetched", kind: "file", ref: "p", declared: {} }] as const;
    await speak(at, { quote: { text: "[file]", media } });
    const rows = at.database.db.selectFrom("attachment").select("seq");
    expect([await rows.execute(), fetched]).toEqual([[{ seq: 0 }], 0]);
    await decided(at);
    await at.clock.advance(2_000);
    await at.platform.until((shown) => shown.length >= 1);
    expect(textOf(at.asked[0]!)).toBe("[from Ada (1)]\n[in reply to a message:]\n> [file] <file> <audio>");
  });

  it("is taken back by /stop like what waits, but is nothing that was stopped", async () => {
    const at = await setUp("Perch!");
    at.platform.files.set("v", hanging);
    await speak(at);
    await at.platform.say("g1", "/stop", { place: GROUP });
    await at.clock.advance(0);
    expect(at.platform.textsIn("g1")).toEqual(["Nothing is running."]);
    expect(await stateOf(at)).toBe("withdrawn: stopped before its turn began");
  });

  it("is recognised when it is handed over again, while it is listened to and after", async () => {
    const at = await setUp("Perch!");
    await speak(at);
    await at.platform.repeat();
    await decided(at);
    await at.platform.repeat();
    await at.clock.advance(2_000);
    await at.platform.until((shown) => shown.length >= 1);
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(1);
  });
});

describe("a process that ends while it listens", () => {
  /** The folder of a gateway that was killed so many times while the voice note was read. */
  async function crash(platform: ToyPlatform, times: number): Promise<string> {
    platform.files.set("v", hanging);
    let folder: string | undefined;
    for (let start = 1; start <= times; start += 1) {
      const at = await testGateway({
        platform,
        clock: manualClock(),
        agents: [hears("Perch!")],
        rules: { names: ["perch"] },
        awaitBegin: false,
        ...(folder === undefined ? {} : { folder }),
      });
      folder = at.folder;
      if (start === 1) await speak(at);
      await settle();
      await at.kill();
    }
    platform.files.set("v", () => bytesOf(VOICE));
    return folder ?? "";
  }

  it("goes on listening at the next start, and answers who has called", async () => {
    const platform = new ToyPlatform();
    const folder = await crash(platform, 1);
    const at = await setUp("Perch!", { platform, folder });
    await decided(at);
    await at.clock.advance(2_000);
    await platform.until((shown) => shown.length >= 1);
    expect(at.asked.map(textOf)).toEqual(["[from Ada (1)] <audio>"]);
  });

  it("answers at the next start who was heard to call before the end", async () => {
    const platform = new ToyPlatform();
    const first = await setUp("Perch!", { platform });
    opened.length = 0;
    await speak(first);
    expect(await decided(first)).toBe("waiting");
    await first.kill();
    const at = await setUp("Perch!", { platform, folder: first.folder });
    await at.clock.advance(2_000);
    await platform.until((shown) => shown.length >= 1);
    expect(at.asked).toHaveLength(1);
  });

  it("lets it be in silence once it has ended with it three times", async () => {
    const platform = new ToyPlatform();
    const folder = await crash(platform, 3);
    const at = await setUp("Perch!", { platform, folder });
    expect(await decided(at)).toBe("refused: not addressed");
    await at.clock.advance(60_000);
    expect([at.asked, platform.shown]).toEqual([[], []]);
  });
});

function hanging(): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
}
