import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Unfetched } from "../../src/core/blocks.ts";
import type { MessageEvent, Place } from "../../src/core/events.ts";
import { manualClock, settle } from "../support/clock.ts";
import { AGENT, testGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";
import { startTranscriber, type TranscriberServer } from "../support/transcriber.ts";

/** 31 January 2024, 12:00 in Berlin. */
const NOON = Date.parse("2024-01-31T11:00:00Z");
const DAY_MS = 24 * 3_600_000;
const GROUP: Place = { chat: "g", kind: "group" };

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function setUp(options: TestGatewayOptions = {}) {
  const clock = manualClock(NOON);
  const world = await testGateway({ clock, timeZone: "Europe/Berlin", ...options });
  ends.push(() => world.close());
  const tell = async (
    person: string,
    text: string,
    extra: Partial<MessageEvent> = {},
  ): Promise<readonly string[]> => {
    const place = extra.place ?? { chat: person, kind: "private" as const };
    const before = world.platform.textsIn(place.chat).length;
    await world.platform.say(person, text, { from: { id: person, name: person }, place, ...extra });
    await clock.advance(300);
    return world.platform.textsIn(place.chat).slice(before);
  };
  return { ...world, clock, tell };
}

const BOUNDED: TestGatewayOptions = {
  rules: { owner: "bob", budgets: { person: { turnsPerHour: 1 }, chat: { tokensPerDay: 1_000 } } },
  budgets: { total: { costPerMonth: 20 }, warnPercent: 100 },
  agents: [{ ...AGENT, budget: { mediaMinutesPerDay: 10 } }],
};

describe("/budget", () => {
  it("says that nothing is bounded where that is so", async () => {
    const { tell } = await setUp();
    expect(await tell("ada", "/budget")).toEqual(["Nothing is bounded here."]);
  });

  it("tells people what is theirs, and the owner the rest as well", async () => {
    const { tell } = await setUp(BOUNDED);
    await tell("ada", "hello");
    expect(await tell("ada", "/budget")).toEqual([
      "Your budget: 1 of 1 turns an hour, anew at 13:00\n" +
        "The budget of this chat: 0 of 1,000 tokens a day, anew on February 1 at 00:00",
    ]);
    expect((await tell("bob", "/budget")).join("\n").split("\n")).toEqual([
      "Your budget: 0 of 1 turns an hour, anew at 13:00",
      "The budget of this chat: 0 of 1,000 tokens a day, anew on February 1 at 00:00",
      "The budget of helper: 0 of 10 min of sound and video a day, anew on February 1 at 00:00",
      "The budget for everybody together: 0 of costs of 20 a month, anew on February 1 at 00:00",
    ]);
  });
});

describe("/budget in a group", () => {
  it("shows nobody there what is the agent's and all people's, though the owner asks", async () => {
    const { tell } = await setUp(BOUNDED);
    await tell("ada", "hello", { place: GROUP });
    expect(await tell("bob", "/budget", { place: GROUP })).toEqual([
      "Your budget: 0 of 1 turns an hour, anew at 13:00\n" +
        "The budget of this chat: 0 of 1,000 tokens a day, anew on February 1 at 00:00",
    ]);
  });
});

describe("/budget lift", () => {
  it("is the owner's", async () => {
    const { tell } = await setUp(BOUNDED);
    expect(await tell("ada", "/budget lift")).toEqual(["Only the owner can do that."]);
  });

  it("in answer to somebody lets them go on until the hour is over, also after a restart", async () => {
    const { tell, folder, platform, kill } = await setUp(BOUNDED);
    const asked = { place: GROUP, ref: "r1" };
    await tell("ada", "one", asked);
    expect((await tell("ada", "two", { place: GROUP })).at(-1)).toContain("Your budget is used up");
    const quote = { text: "one", ref: "r1" };
    expect(await tell("bob", "/budget lift", { place: GROUP, quote })).toEqual([
      "The budget of that person stops them no more until it begins anew.",
    ]);
    expect((await tell("ada", "three", { place: GROUP })).at(-1)).toContain("heard:");
    await kill();
    ends.length = 0;
    const again = await setUp({ ...BOUNDED, folder, platform });
    expect((await again.tell("ada", "four", { place: GROUP })).at(-1)).toContain("heard:");
    expect(await again.tell("ada", "/budget")).toEqual([
      expect.stringMatching(/^Your budget: 3 of 1 turns an hour, anew at 13:00; lifted until then\n/),
    ]);
    await again.clock.advance(3_600_000);
    await again.tell("ada", "five");
    expect((await again.tell("ada", "six")).at(-1)).toContain("Your budget is used up");
  });

  it("in answer to what the agent has answered somebody, or told them of it, is for them and not for the chat", async () => {
    const { tell, database, platform } = await setUp(BOUNDED);
    const inGroup = { place: GROUP };
    /** What the platform calls the message of ours that has these words: one piece is one message here. */
    const refOf = async (words: string): Promise<string> => {
      const index = platform.shown.findIndex(({ text }) => text.includes(words));
      const rows = await database.db.selectFrom("sent").select("ref").orderBy("piece_id").execute();
      return rows[index]?.ref ?? "";
    };
    await tell("ada", "one", inGroup);
    await tell("ada", "two", inGroup);
    for (const text of ["heard:", "Your budget is used up"]) {
      await database.db.updateTable("use_count").set({ lifted: 0 }).execute();
      const quote = { text, ref: await refOf(text) };
      expect(await tell("bob", "/budget lift", { ...inGroup, quote })).toEqual([
        "The budget of that person stops them no more until it begins anew.",
      ]);
      const rows = await database.db
        .selectFrom("use_count")
        .select(["scope", "subject"])
        .where("lifted", "=", 1)
        .execute();
      expect(rows).toEqual([{ scope: "person", subject: "ada" }]);
    }
  });

  it("in answer to a message that nobody knows lifts nothing, and not the chat's either", async () => {
    const { tell, database } = await setUp(BOUNDED);
    const quote = { text: "long ago", ref: "r-of-old" };
    expect(await tell("bob", "/budget lift", { place: GROUP, quote })).toEqual([
      expect.stringMatching(/^There is no such budget/),
    ]);
    expect(await database.db.selectFrom("use_count").selectAll().execute()).toEqual([]);
  });

  it.each([
    ["/budget lift", "The budget of this chat stops nobody until it begins anew.", ["chat"]],
    ["/budget lift agent", "The budget of helper stops nobody until it begins anew.", ["agent"]],
    ["/budget lift all", "The budget for everybody together stops nobody until it begins anew.", ["total"]],
    ["/budget lift eve", expect.stringMatching(/^There is no such budget/), []],
  ] as const)("%s", async (text, words, scopes) => {
    const { tell, database } = await setUp(BOUNDED);
    expect(await tell("bob", text)).toEqual([words]);
    const rows = await database.db.selectFrom("use_count").select("scope").where("lifted", "=", 1).execute();
    expect(rows.map(({ scope }) => scope)).toEqual(scopes);
  });
});

describe("minutes of sound and video", () => {
  let server: TranscriberServer;
  let sound: Buffer;
  beforeAll(async () => {
    server = await startTranscriber();
    server.otherwise = "blue kettle";
    sound = await readFile(join(import.meta.dirname, "../fixtures/media/voice_known.ogg"));
  });
  afterAll(() => server.close());

  /** A gateway whose people may have so many voice notes listened to, each as long as the fixture. */
  async function listening(minutes: number, options: TestGatewayOptions = {}) {
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), "perch-minutes-")));
    if (options.folder === undefined) ends.push(() => rm(folder, { recursive: true, force: true }));
    const world = await setUp({
      folder,
      agents: [{ ...AGENT, transcriber: server.transcriber }],
      rules: { budgets: { person: { mediaMinutesPerDay: minutes } } },
      budgets: { warnPercent: 100 },
      ...options,
    });
    const voice = (ref: string, durationSeconds?: number): Unfetched => {
      world.platform.files.set(ref, async function* () {
        yield sound;
      });
      const length = durationSeconds === undefined ? {} : { durationSeconds };
      return { type: "unfetched", kind: "audio", ref, declared: { label: "voice message", ...length } };
    };
    return {
      ...world,
      voice,
      /** Sends it and waits for the answer; gives all that is said since. */
      async hear(...content: MessageEvent["content"]) {
        const before = world.asked.length;
        const shown = world.platform.textsIn("ada").length;
        await world.platform.say("ada", content);
        for (let n = 0; n < 50 && world.asked.length === before; n += 1) await world.clock.advance(200);
        while (world.asked.length === before) await settle();
        await world.clock.advance(1);
        return world.platform.textsIn("ada").slice(shown);
      },
      seconds: async () =>
        (await world.database.db.selectFrom("use_count").select("used").execute()).map(({ used }) => used),
    };
  }

  const LENGTH = 6; // of the fixture, rounded up
  const no = (limit: string, left: string): RegExp =>
    new RegExp(
      `^I have not listened to the voice message: of your ${limit} of sound and video a day ${left} are left`,
    );

  it("are counted with the outcome of a recording, as far as it was listened to", async () => {
    const world = await listening(1);
    expect(await world.hear(world.voice("v", 2))).toHaveLength(1);
    expect(await world.seconds()).toEqual([LENGTH]);
    expect(await world.hear({ type: "text", text: "and this" })).toHaveLength(1);
    expect(await world.seconds()).toEqual([LENGTH]);
  });

  it("stop what does not fit by what its platform says of it, before it is fetched; the rest is answered", async () => {
    const world = await listening(1);
    const uploads = server.uploads.length;
    const [notice, answer] = await world.hear({ type: "text", text: "listen" }, world.voice("long", 61));
    expect(notice).toMatch(no("1 min 00 s", "1 min 00 s"));
    expect(answer).toContain("heard: listen [I have not listened to the voice message");
    expect(server.uploads).toHaveLength(uploads);
    expect(await world.seconds()).toEqual([]);
  });

  it("stop what does not fit by its real length, and begin anew the next day", async () => {
    const world = await listening(0.15);
    await world.hear(world.voice("one"));
    expect(await world.seconds()).toEqual([LENGTH]);
    const uploads = server.uploads.length;
    expect((await world.hear(world.voice("two", 1)))[0]).toMatch(no("9 s", "3 s"));
    expect(server.uploads).toHaveLength(uploads);
    await world.clock.advance(DAY_MS);
    await world.hear(world.voice("three"));
    expect(server.uploads).toHaveLength(uploads + 1);
  });

  it("hold for many recordings at once", async () => {
    const world = await listening(0.15);
    const uploads = server.uploads.length;
    await world.hear(...["a", "b", "c", "d"].map((ref) => world.voice(ref)));
    expect(textOf(world.asked[0]!).match(/I have not listened to/g)).toHaveLength(3);
    expect(server.uploads).toHaveLength(uploads + 1);
    expect(await world.seconds()).toEqual([LENGTH]);
  });

  it("are counted once where the process ends while a recording is listened to", async () => {
    const folder = await mkdtemp(join(tmpdir(), "perch-minutes-"));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const first = await listening(1, { folder });
    server.reply({ fault: "silence" });
    const uploads = server.uploads.length;
    await first.platform.say("ada", [first.voice("v", 5)]);
    for (let n = 0; n < 10; n += 1) await first.clock.advance(200);
    await server.whenUploads(uploads + 1);
    expect(await first.seconds()).toEqual([]);
    await first.kill();
    ends.splice(1);
    const again = await listening(1, { folder, platform: first.platform });
    while (again.asked.length === 0) {
      await again.clock.advance(200);
      await settle();
    }
    expect(await again.seconds()).toEqual([LENGTH]);
  });
});
