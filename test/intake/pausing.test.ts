import { afterEach, describe, expect, it } from "vitest";
import type { MessageEvent, Place } from "../../src/core/events.ts";
import { minutesIn } from "../../src/intake/pausing.ts";
import { manualClock, type ManualClock } from "../support/clock.ts";
import { testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";
import { closeAll, setUp as withSchedules, wish as scheduled } from "../schedules/secretary.ts";

type World = TestGateway & { readonly clock: ManualClock };

const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

async function setUp(options: TestGatewayOptions = {}): Promise<World> {
  const clock = manualClock();
  const at = { ...(await testGateway({ clock, ...options })), clock };
  opened.push(at);
  return at;
}

/** After a restart, or the end of the process: `kill` was called before. */
async function restarted(before: World, options: TestGatewayOptions = {}): Promise<World> {
  const { clock, folder, platform } = before;
  opened.splice(opened.indexOf(before), 1);
  const at = { ...(await testGateway({ clock, folder, platform, ...options })), clock };
  opened.push(at);
  return at;
}

const MINUTE = 60_000;
const GROUP: Place = { chat: "g1", kind: "group" };
const OLGA = { from: { id: "olga", name: "Olga" } };
const BOB = { from: { id: "bob", name: "Bob" } };

const say = (at: World, text: string, more: Partial<MessageEvent> = {}): Promise<MessageEvent> =>
  at.platform.say("ada", text, { sentAt: new Date(at.clock.now()).toISOString(), ...more });

async function fates({ database }: World): Promise<readonly string[]> {
  const rows = await database.db.selectFrom("inbox").select(["state", "why"]).orderBy("id").execute();
  return rows.map(({ state, why }) => (why === "" ? state : `${state}: ${why}`));
}

const KEPT = "aside: paused here by /pause";
const PAUSED = "I keep still here until /resume, and keep in mind what is said.";

describe("/pause", () => {
  it("has nothing answered until /resume, which has all that was said answered at once", async () => {
    const at = await setUp();
    await say(at, "/pause");
    await say(at, "one");
    await at.clock.advance(5 * MINUTE);
    await say(at, "two");
    await at.clock.advance(60 * MINUTE);
    expect([at.asked, at.platform.textsIn("ada")]).toEqual([[], [PAUSED]]);
    expect((await fates(at)).slice(1)).toEqual([KEPT, KEPT]);
    await say(at, "/resume");
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual([
      "[while you were paused these messages came; answer once, as far as it is still of use] " +
        "[sent 2023-11-14 22:13 UTC] one [sent 2023-11-14 22:18 UTC] two",
    ]);
    expect(at.platform.textsIn("ada")).toHaveLength(2);
    await say(at, "three");
    await at.clock.advance(300);
    expect(at.asked.map(textOf).slice(1)).toEqual(["three"]);
  });

  it("stops the turn that runs with nothing sent, and its messages are answered with the rest", async () => {
    const at = await setUp({
      answer: (turn) => (textOf(turn) === "first" ? new Promise<string>(() => {}) : "done"),
    });
    await say(at, "first");
    await at.clock.advance(300);
    await say(at, "waits");
    await say(at, "/pause");
    await at.clock.advance(MINUTE);
    await say(at, "second");
    expect([at.asked.length, at.platform.textsIn("ada"), await fates(at)]).toEqual([
      1,
      [PAUSED],
      [KEPT, KEPT, "consumed", KEPT],
    ]);
    await say(at, "/resume");
    await at.clock.advance(300);
    expect(textOf(at.asked[1]!)).toMatch(/first .* waits .* second$/);
    expect(at.platform.textsIn("ada")).toEqual([PAUSED, "done"]);
    // Under the name of the first its thread would take all of it for said already.
    expect(at.asked[1]?.messageId).not.toBe(at.asked[0]?.messageId);
  });

  it("keeps what the turn that it stopped was of as it was edited meanwhile, and nothing that was taken back", async () => {
    let runs = 0;
    const at = await setUp({ answer: () => ((runs += 1) === 1 ? new Promise<string>(() => {}) : "done") });
    const first = await say(at, "first");
    const second = await say(at, "second");
    await at.clock.advance(300);
    await at.platform.edit(first, "first, edited");
    await at.platform.remove(second.place, second.ref);
    await say(at, "/pause");
    await say(at, "third");
    await say(at, "/resume");
    await at.clock.advance(300);
    expect(textOf(at.asked[0]!)).toMatch(/first second$/);
    expect(textOf(at.asked[1]!)).toMatch(/first, edited .*third$/s);
    expect(textOf(at.asked[1]!)).not.toMatch(/second|\[edited|taken back/);
  });

  it("has a turn that it stopped run again as the same one where nothing was said since", async () => {
    let runs = 0;
    const at = await setUp({ answer: () => ((runs += 1) === 1 ? new Promise<string>(() => {}) : "done") });
    await say(at, "first");
    await at.clock.advance(300);
    await say(at, "/pause");
    await say(at, "/resume");
    await at.clock.advance(300);
    expect(at.asked.map(({ messageId }) => messageId)).toEqual([
      at.asked[0]?.messageId,
      at.asked[0]?.messageId,
    ]);
    expect(at.platform.textsIn("ada").at(-1)).toBe("done");
  });

  it("ends by itself after its time, and the next message brings what was kept", async () => {
    const at = await setUp();
    await say(at, "/pause 30");
    await at.clock.advance(1);
    expect(at.platform.textsIn("ada")).toEqual([
      "I keep still here for 30 min, and keep in mind what is said. /resume ends that sooner.",
    ]);
    await say(at, "meanwhile");
    await at.clock.advance(31 * MINUTE);
    expect(at.asked).toEqual([]);
    await say(at, "and now?");
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual([
      "[said in this chat before, without an answer of yours; lines with > are their words]\n" +
        "[from Ada, 2023-11-14 22:13 UTC]\n> meanwhile and now?",
    ]);
  });

  it("that is sent once more holds by its own time", async () => {
    const at = await setUp();
    await say(at, "/pause");
    await say(at, "/pause 2h");
    await at.clock.advance(119 * MINUTE);
    await say(at, "kept");
    await at.clock.advance(2 * MINUTE);
    await say(at, "asked");
    await at.clock.advance(300);
    expect(at.asked).toHaveLength(1);
  });

  it.each([
    ["5", 5],
    ["30 min", 30],
    ["2h", 120],
    ["2 Stunden", 120],
    ["1 day", 1440],
    ["7 days", 10_080],
    ["8 days", undefined],
    ["0", undefined],
    ["-5", undefined],
    ["1.5h", undefined],
    ["soon", undefined],
    ["2 fortnights", undefined],
  ])("takes %j as %j minutes", (wish, minutes) => {
    expect(minutesIn(wish)).toBe(minutes);
  });

  it("refuses what is no time, and changes nothing", async () => {
    const at = await setUp();
    await say(at, "/pause for a while");
    await say(at, "hello");
    await at.clock.advance(300);
    expect(at.platform.textsIn("ada")).toEqual([
      "That is no time of 1 min to 7 days. Send /pause and one such as 30 min, 2 h or 1 day, or /pause alone.",
      "heard: hello",
    ]);
  });

  it("is told by /status, with how long it lasts", async () => {
    const at = await setUp();
    await say(at, "/pause 90m");
    await say(at, "/status");
    await say(at, "/pause");
    await say(at, "/status");
    await at.clock.advance(1);
    const [, first, , second] = at.platform.textsIn("ada");
    expect(first).toContain("\nPaused: for 1 h more");
    expect(second).toContain("\nPaused: until /resume");
  });

  it("holds no longer than it was to where the clock is set back, and does not begin anew when it is over", async () => {
    const at = await setUp();
    await say(at, "/pause 30");
    await at.clock.advance(MINUTE);
    await at.clock.advance(-10 * 60 * MINUTE);
    await say(at, "kept");
    await at.clock.advance(31 * MINUTE);
    await say(at, "asked");
    await at.clock.advance(300);
    await at.clock.advance(-20 * MINUTE);
    await say(at, "asked too");
    await at.clock.advance(300);
    expect(at.asked).toHaveLength(2);
  });

  it("keeps the newest fifty, and the agent is told how many more there were", async () => {
    const at = await setUp();
    await say(at, "/pause 10");
    for (let n = 1; n <= 60; n += 1) await say(at, `n${n}`);
    await at.clock.advance(11 * MINUTE);
    await say(at, "so?");
    await at.clock.advance(300);
    const told = textOf(at.asked[0]!);
    expect(told).toContain("[10 messages before these left out]\n[from Ada, 2023-11-14 22:13 UTC]\n> n11\n");
  });

  it("has no more answered at once than one intent may hold; the agent is told of the rest", async () => {
    const at = await setUp();
    await say(at, "/pause");
    for (let n = 1; n <= 20; n += 1) await say(at, `n${n}`);
    await say(at, "/resume");
    await at.clock.advance(300);
    const [told] = at.asked.map(textOf);
    expect(at.asked).toHaveLength(1);
    expect(told).toMatch(/^\[said in this chat before[^]*> n8 \[while you were paused[^]*UTC\] n9 [^]* n20$/);
  });

  it("twice has nothing answered after what came later, nor in two turns", async () => {
    const at = await setUp();
    const paused = await say(at, "/pause");
    for (let n = 1; n <= 20; n += 1) await say(at, `n${n}`);
    const resume = { ...paused, content: [{ type: "text", text: "/resume" }] } as const;
    await at.platform.deliver(["r1", "r2"].map((id) => ({ ...resume, id, ref: id })));
    await at.clock.advance(MINUTE);
    expect(at.asked).toHaveLength(1);
    expect(textOf(at.asked[0]!)).toMatch(/> n8 .* n20$/s);
  });

  it("has the files that were sent meanwhile fetched once they are to be answered", async () => {
    const at = await setUp();
    await say(at, "/pause");
    at.platform.files.set("f", chunks(Buffer.from("Chairs: 4271\n")));
    const file = { type: "unfetched", kind: "file", ref: "f", declared: { filename: "chairs.txt" } } as const;
    await say(at, "", { content: [{ type: "text", text: "how many?" }, file] });
    await at.clock.advance(MINUTE);
    const open = at.database.db.selectFrom("attachment").select("id");
    expect(await open.execute()).toEqual([]);
    await say(at, "/resume");
    await at.platform.until((shown) => shown.length >= 2);
    expect(at.asked.map(textOf)).toEqual([expect.stringMatching(/how many\?.* <file>$/)]);
  });
});

describe("/resume", () => {
  it("says so where there was nothing, and where nothing was paused", async () => {
    const at = await setUp();
    await say(at, "/resume");
    await say(at, "/pause");
    await say(at, "/resume");
    await at.clock.advance(1);
    expect(at.platform.textsIn("ada")).toEqual([
      "I am here; nothing of yours waits.",
      PAUSED,
      "I am back. Nothing was said to me meanwhile.",
    ]);
  });

  it("has what was kept answered also where the pause has ended by itself", async () => {
    const at = await setUp();
    await say(at, "/pause 1");
    await say(at, "meanwhile");
    await at.clock.advance(2 * MINUTE);
    await say(at, "/resume");
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual([expect.stringMatching(/paused this message came.* meanwhile$/)]);
  });

  it("begins nothing with what the person has taken back", async () => {
    const at = await setUp();
    await say(at, "/pause");
    const said = await say(at, "a secret");
    await at.platform.remove(said.place, said.ref);
    await say(at, "/resume");
    await at.clock.advance(300);
    expect(at.asked).toEqual([]);
  });
});

describe("in a group", () => {
  const rules = { owner: "olga", allow: ["ada", "bob"], context: 2 };

  it("only the owner has the agent keep still, and speak again to all who asked", async () => {
    const at = await setUp({ rules });
    await say(at, "/pause", { place: GROUP });
    await say(at, "/pause", { place: GROUP, ...OLGA });
    await say(at, "who has the key?", { place: GROUP });
    await say(at, "me", { place: GROUP, ...BOB, addressed: false });
    const last = await say(at, "and the car?", { place: GROUP, ...BOB });
    await say(at, "/resume", { place: GROUP });
    await say(at, "/status", { place: GROUP });
    await at.clock.advance(MINUTE);
    expect([at.asked, at.platform.textsIn("g1")]).toEqual([[], ["Only the owner can do that.", PAUSED]]);
    await say(at, "/status", { place: GROUP, ...OLGA });
    await at.clock.advance(1);
    expect(at.platform.textsIn("g1").at(-1)).toContain("Paused: until /resume");
    await say(at, "/resume", { place: GROUP, ...OLGA });
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual([
      "[said in the group before, not to you; lines with > are their words]\n[from Bob (2)]\n> me " +
        "[while you were paused these messages came; answer once, as far as it is still of use] " +
        "[from Ada (1)]\n[sent 2023-11-14 22:13 UTC] who has the key? " +
        "[from Bob (2)]\n[sent 2023-11-14 22:13 UTC] and the car?",
    ]);
    expect(at.platform.shown.find(({ text }) => text.startsWith("heard:"))?.replyTo).toBe(last.ref);
  });

  it("holds there alone", async () => {
    const at = await setUp({ rules });
    await say(at, "/pause", { place: GROUP, ...OLGA });
    await say(at, "hello");
    await at.clock.advance(300);
    expect(at.platform.textsIn("ada")).toEqual(["heard: hello"]);
  });
});

describe("what nobody has asked for just then", () => {
  afterEach(closeAll);

  it("is done once the pause is over", async () => {
    const { say: ask, clock, given } = await withSchedules();
    await ask(scheduled({ inMinutes: 20 }));
    await ask("/pause 60");
    await clock.advance(30 * MINUTE);
    expect(given()).toEqual([]);
    await clock.advance(50 * MINUTE);
    expect(given()).toHaveLength(1);
  });
});

describe("where the account's own person has taken over", () => {
  it("nobody else has the agent speak again", async () => {
    const at = await setUp({ rules: { pauseMs: 10 * MINUTE } });
    await say(at, "let me see", { from: { id: "me", name: "Mira" }, addressed: false, own: true });
    await say(at, "/resume");
    await say(at, "hello?");
    await at.clock.advance(MINUTE);
    expect([at.asked, at.platform.shown]).toEqual([[], []]);
  });
});

describe("over the end of the process", () => {
  it("a pause holds, and what was kept is answered by /resume", async () => {
    const before = await setUp();
    await say(before, "/pause");
    await say(before, "one");
    await before.kill();
    const at = await restarted(before);
    await say(at, "two");
    await at.clock.advance(60 * MINUTE);
    expect(at.asked).toEqual([]);
    await say(at, "/resume");
    await at.clock.advance(300);
    expect(at.asked.map(textOf)).toEqual([expect.stringMatching(/ one .* two$/)]);
  });

  it.each(["/pause", "/pause 10"])(
    "a turn that %s had just cut off says nothing meanwhile, and is not lost",
    async (command) => {
      // An agent that hears of nothing: the process ends before the turn does.
      const before = await setUp({ answer: () => new Promise<string>(() => {}) });
      await say(before, "first");
      await before.clock.advance(300);
      await before.database.db
        .updateTable("chat")
        .set((eb) => ({
          paused_until: command === "/pause" ? Date.UTC(9999, 0) : before.clock.now() + 10 * MINUTE,
          paused_by: "command",
          paused_at: before.clock.now(),
          paused_epoch: eb.ref("epoch"),
        }))
        .execute();
      await before.kill();
      const at = await restarted(before);
      await at.clock.advance(9 * MINUTE);
      expect([at.asked, at.platform.shown]).toEqual([[], []]);
      if (command === "/pause") await say(at, "/resume");
      await at.clock.advance(2 * MINUTE);
      expect(at.platform.textsIn("ada")).toEqual(["heard: first"]);
    },
  );
});

function chunks(bytes: Uint8Array): () => AsyncIterable<Uint8Array> {
  return async function* () {
    yield bytes;
  };
}
