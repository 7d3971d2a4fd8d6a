import { describe, expect, it } from "vitest";
import { allGrants, grant } from "../../src/store/people.ts";
import { prune } from "../../src/store/upkeep.ts";
import { onStore } from "../support/database.ts";
import { type Taking, takingIn } from "./set-up.ts";

const open = onStore();
const HOUR_MS = 3_600_000;
const CODE =
  /^This bot is private\. Give this code to its owner within the hour, and you will be let in: ([A-HJ-NP-Z2-9]{8})$/;

async function setUp(): Promise<Taking> {
  return takingIn(await open(), { owner: "olga", strangers: "pair" });
}

async function codesOf(taking: Taking, person: string): Promise<readonly string[]> {
  const texts = (await taking.planned()).filter(({ to }) => to === person);
  return texts.flatMap(({ text }) => CODE.exec(text)?.[1] ?? []);
}

async function granted(taking: Taking): Promise<readonly string[]> {
  const grants = await allGrants(taking.database);
  return grants
    .filter(({ role }) => role !== "stranger")
    .map(({ channel, person, role, grantedBy }) => `${channel} ${person} ${role}, by ${grantedBy}`);
}

/** The keys of the buttons that the owner was last shown, by their labels. */
async function buttons(taking: Taking): Promise<Readonly<Record<string, string>>> {
  const asked = (await taking.planned()).findLast(({ choices }) => choices);
  return Object.fromEntries((asked?.choices ?? []).map(({ label, key }) => [label, key]));
}

describe("a stranger", () => {
  it("gets a code, is answered once an hour, and gets another code once that has expired", async () => {
    const taking = await setUp();
    await taking.say("eve", "hello");
    await taking.say("eve", "hello?");
    await taking.clock.advance(HOUR_MS - 1);
    await taking.say("eve", "hello??");
    const [first] = await codesOf(taking, "eve");
    expect(await taking.planned()).toHaveLength(1);
    await taking.clock.advance(1);
    await taking.say("eve", "and now?");
    const codes = await codesOf(taking, "eve");
    expect(codes).toHaveLength(2);
    expect(codes[1]).not.toBe(first);
    expect(new Set(await taking.fates())).toEqual(new Set(["refused: the sender is not allowed here"]));
  });

  it("gets the same code again within its hour, whoever has told them something else meanwhile", async () => {
    const taking = await setUp();
    await taking.say("eve", "hello");
    await taking.database.db.deleteFrom("person").execute();
    await taking.say("eve", "hello");
    const [first, second] = await codesOf(taking, "eve");
    expect(second).toBe(first);
  });

  it("is told nothing in a group, when three others wait, or when they are denied", async () => {
    const taking = await setUp();
    taking.rules({ toy: { owner: "olga", strangers: "pair", deny: ["ned"] } });
    await taking.say("eve", "hello", { place: { chat: "g", kind: "group" } });
    await taking.say("ned", "hello");
    for (const person of ["p1", "p2", "p3", "p4"]) await taking.say(person, "hello");
    expect((await taking.planned()).map(({ to }) => to)).toEqual(["p1", "p2", "p3"]);
    // Once there is room, the fourth is answered.
    await taking.clock.advance(HOUR_MS);
    await taking.say("p4", "hello");
    expect(await codesOf(taking, "p4")).toHaveLength(1);
  });
});

describe("the owner", () => {
  it("is asked where they wrote in private, with the name as others' words, and lets them in by a button", async () => {
    const taking = await setUp();
    await taking.say("olga", "hi", { place: { chat: "g", kind: "group" } });
    await taking.say("olga", "hi", { place: { chat: "home", kind: "private" } });
    await taking.say("eve", "hello", {
      from: { id: "eve", name: `Eve" is your friend.\n${"x".repeat(200)}` },
    });
    const asked = (await taking.planned()).find(({ to }) => to === "home");
    expect(asked?.text).toBe(
      `"Eve\\" is your friend. ${"x".repeat(80 - 'Eve" is your friend. '.length)}" asks to talk to this bot. ` +
        "Let them in here, or by /pair and the code that they were given.",
    );
    expect(asked?.choices?.map(({ label }) => label)).toEqual(["Allow", "Refuse"]);
    const { Allow = "", Refuse = "" } = await buttons(taking);
    const home = { place: { chat: "home", kind: "private" as const } };
    expect(await taking.press("ada", Allow, home)).toBe("That is not for you.");
    expect(await taking.press("olga", Allow, home)).toBeUndefined();
    expect(await taking.press("olga", Refuse, home)).toBe("That was answered already.");
    expect(await granted(taking)).toEqual(["toy eve allowed, by toy olga"]);
    expect((await taking.planned()).slice(-2)).toEqual([
      { to: "eve", text: "You have been let in. Send me something." },
      { to: "home", text: `${asked?.text} — ✓ Allow`, replaces: "q1" },
    ]);
    await taking.say("eve", "hello again");
    expect((await taking.fates()).at(-1)).toBe("waiting");
  });

  it("refuses somebody for good, until the grant is taken back", async () => {
    const taking = await setUp();
    await taking.say("olga", "hi");
    await taking.say("eve", "hello");
    expect(await taking.press("olga", (await buttons(taking))["Refuse"] ?? "")).toBeUndefined();
    expect(await granted(taking)).toEqual(["toy eve refused, by toy olga"]);
    await taking.clock.advance(48 * HOUR_MS);
    await taking.say("eve", "hello");
    expect(await codesOf(taking, "eve")).toHaveLength(1);
  });

  it("can press nothing any more when the code has expired, was used, or they are not the owner now", async () => {
    const taking = await setUp();
    await taking.say("olga", "hi");
    await taking.say("eve", "hello");
    const { Allow = "" } = await buttons(taking);
    taking.rules({ toy: { owner: "omar", allow: ["olga"] } });
    expect(await taking.press("olga", Allow)).toBe("That is not for you.");
    taking.rules({ toy: { owner: "olga" } });
    const [code = ""] = await codesOf(taking, "eve");
    await taking.say("olga", `/pair ${code}`);
    await taking.database.db.deleteFrom("person").execute();
    expect(await taking.press("olga", Allow)).toBe("That has expired.");
    expect((await taking.planned()).at(-1)).toMatchObject({
      text: expect.stringMatching(/ — That has expired\.$/) as string,
      replaces: "q1",
    });
    await taking.clock.advance(HOUR_MS);
    expect(await taking.press("olga", Allow)).toBe("That has expired.");
    expect(await granted(taking)).toEqual([]);
  });
});

describe("/pair", () => {
  it("lets in whoever was given the code, typed by an owner whom the operator has named anywhere, once", async () => {
    const taking = takingIn(await open());
    taking.rules({ toy: { strangers: "pair" }, page: { owner: "you" } });
    await taking.say("eve", "hello");
    const [code = ""] = await codesOf(taking, "eve");
    await taking.say("you", "/pair", { channel: "page" });
    await taking.say("you", `/pair  ${code.toLowerCase()} `, { channel: "page" });
    await taking.say("you", `/pair ${code}`, { channel: "page" });
    expect(await granted(taking)).toEqual(["toy eve allowed, by page you"]);
    expect((await taking.planned()).slice(1).map(({ to, text }) => `${to}: ${text}`)).toEqual([
      "you: Asking to be let in: 1. Send /pair and the code that they were given.",
      "eve: You have been let in. Send me something.",
      "you: They are let in, in toy.",
      "you: Nobody was given this code within the last hour.",
    ]);
    await taking.say("eve", "hello again");
    expect((await taking.fates()).at(-1)).toBe("waiting");
  });

  it("lets nobody in elsewhere by an owner whom a start link has made one, unless they own that as well", async () => {
    const taking = takingIn(await open());
    taking.rules({ toy: { strangers: "pair" }, club: {} });
    const own = (channel: string) =>
      grant(taking.database.db, { channel, person: "olga", role: "owner", grantedBy: "start link", at: 0 });
    await own("club");
    await taking.say("olga", "hello");
    const [code = ""] = await codesOf(taking, "olga");
    await taking.say("olga", `/pair ${code}`, { channel: "club" });
    expect((await taking.planned()).at(-1)?.text).toBe("Nobody was given this code within the last hour.");
    expect(await granted(taking)).toEqual(["club olga owner, by start link"]);
    await taking.say("eve", "hello");
    const [others = ""] = await codesOf(taking, "eve");
    await own("toy");
    await taking.say("olga", `/pair ${others}`, { channel: "club" });
    expect((await taking.planned()).at(-1)?.text).toBe("They are let in, in toy.");
  });

  it("is for the owner alone, and takes no code that has expired", async () => {
    const taking = await setUp();
    await taking.say("eve", "hello");
    const [code = ""] = await codesOf(taking, "eve");
    await taking.say("ada", `/pair ${code}`);
    await taking.clock.advance(HOUR_MS);
    await taking.say("olga", `/pair ${code}`);
    expect((await taking.planned()).slice(1).map(({ text }) => text)).toEqual([
      "Only the owner can do that.",
      "Nobody was given this code within the last hour.",
    ]);
    expect(await granted(taking)).toEqual([]);
  });

  it("looks at no more codes after five wrong ones of one typist within an hour", async () => {
    const taking = await setUp();
    await taking.say("eve", "hello");
    const [code = ""] = await codesOf(taking, "eve");
    for (let wrong = 0; wrong < 5; wrong += 1) {
      await taking.say("olga", "/pair AAAAAAAA");
      await taking.clock.advance(60_000);
    }
    await taking.say("olga", `/pair ${code}`);
    expect((await taking.planned()).at(-1)?.text).toBe("Too many wrong codes; please try again in 55 min.");
    expect(await granted(taking)).toEqual([]);
    await taking.clock.advance(54 * 60_000 + 59_999);
    taking.rules({ toy: { owner: "omar", strangers: "pair" } });
    await taking.say("omar", `/pair ${code}`);
    expect(await granted(taking)).toEqual(["toy eve allowed, by toy omar"]);
  });
});

it("tells the log neither code nor name, and forgets what is over", async () => {
  const taking = await setUp();
  await taking.say("olga", "hi");
  await taking.say("eve", "hello", { from: { id: "eve", name: "Marmalade" } });
  const [code = ""] = await codesOf(taking, "eve");
  await taking.say("olga", "/pair AAAAAAAA");
  await taking.say("olga", `/pair ${code}`);
  await taking.say("adam", "hello");
  expect(taking.logged.map(({ sentence }) => sentence)).toContain("the owner has let somebody in");
  const traces = await taking.database.db.selectFrom("inbox").select(["trace", "why", "payload"]).execute();
  for (const text of [JSON.stringify(taking.logged), JSON.stringify(traces)]) {
    expect(text).not.toContain(code);
    expect(text).not.toContain("Marmalade");
  }
  await prune(taking.database, taking.clock.now() + 2 * HOUR_MS);
  for (const table of ["pairing", "wrong_code", "question", "choice"] as const)
    expect(await taking.database.db.selectFrom(table).selectAll().execute()).toEqual([]);
  const people = await taking.database.db.selectFrom("person").select(["person", "role"]).execute();
  expect(people).toEqual([{ person: "eve", role: "allowed" }]);
});
