import { describe, expect, it } from "vitest";
import type { Place } from "../../src/core/events.ts";
import { onStore } from "../support/database.ts";
import { AGENT } from "../support/gateway.ts";
import { takingIn } from "./set-up.ts";

const open = onStore();
const OPEN = { open: true, turnsPerHour: 2 };
const MINUTE_MS = 60_000;
const GROUP: Place = { chat: "g", kind: "group" };
const SPENT = "refused: the sender has had the turns of an hour (2)";

describe("the turns of an hour", () => {
  it("are counted of whom only open lets in, and told once an hour when there are no more", async () => {
    const taking = takingIn(await open(), OPEN);
    await taking.say("eve", "one");
    await taking.clock.advance(10 * MINUTE_MS);
    await taking.say("eve", "two");
    await taking.clock.advance(38 * MINUTE_MS);
    await taking.say("eve", "three");
    await taking.say("eve", "four");
    await taking.say("mallory", "one of another");
    expect(await taking.fates()).toEqual(["waiting", "waiting", SPENT, SPENT, "waiting"]);
    expect(await taking.planned()).toEqual([
      { to: "eve", text: "You have had your answers of this hour (2); please try again in 12 min." },
    ]);
  });

  it("come back an hour after each was asked for", async () => {
    const taking = takingIn(await open(), OPEN);
    await taking.say("eve", "one");
    await taking.clock.advance(30 * MINUTE_MS);
    await taking.say("eve", "two");
    await taking.clock.advance(30 * MINUTE_MS);
    await taking.say("eve", "three");
    await taking.say("eve", "four");
    expect(await taking.fates()).toEqual(["waiting", "waiting", "waiting", SPENT]);
  });

  it("are counted over all chats of a connection, and in each connection alone", async () => {
    const taking = takingIn(await open());
    taking.rules({ toy: OPEN, other: OPEN });
    await taking.say("eve", "one");
    await taking.say("eve", "two", { place: GROUP });
    await taking.say("eve", "three");
    await taking.say("eve", "one there", { channel: "other" });
    expect(await taking.fates()).toEqual(["waiting", "waiting", SPENT, "waiting"]);
  });

  it("are not spent by what joins an open intent, by commands, or by what was taken back", async () => {
    const taking = takingIn(await open(), { open: true, turnsPerHour: 1 });
    await taking.say("eve", "one", { part: true });
    await taking.say("eve", "and a second part", { part: true });
    await taking.say("eve", "/stop");
    await taking.say("eve", "another", { part: true });
    await taking.say("eve", "/status");
    expect(await taking.fates()).toEqual([
      "withdrawn: stopped before its turn began",
      "withdrawn: stopped before its turn began",
      "consumed",
      "waiting",
      "consumed",
    ]);
    expect((await taking.planned()).map(({ text }) => text)).toEqual([
      "Stopped.",
      expect.stringMatching(/^Agent: helper/),
    ]);
  });

  it("are spent by what is listened to as long as it may become one, however much comes at once", async () => {
    const agent = { ...AGENT, transcriber: { use: "command", command: ["listen", "{file}"] } } as const;
    const taking = takingIn(await open(), { ...OPEN, names: ["perch"] }, agent);
    const note = { type: "unfetched", kind: "audio", ref: "v", declared: { label: "voice note" } } as const;
    const spoken = { place: GROUP, addressed: false, content: [note] };
    for (let n = 0; n < 3; n += 1) await taking.say("eve", "", spoken);
    expect(await taking.fates()).toEqual(["listening", "listening", "refused: not addressed"]);
    await taking.database.db.updateTable("inbox").set({ state: "refused", why: "not addressed" }).execute();
    await taking.say("eve", "", spoken);
    expect((await taking.fates()).at(-1)).toBe("listening");
  });

  it("hold for whom a chat lets in with everyone, and for nobody who is listed, granted or the owner", async () => {
    const taking = takingIn(await open(), {
      owner: "olga",
      turnsPerHour: 1,
      chats: { g: { allow: "everyone" }, h: { allow: ["eve"] } },
    });
    for (const person of ["eve", "ada", "olga"]) {
      await taking.say(person, "one", { place: GROUP });
      await taking.say(person, "two", { place: GROUP });
    }
    await taking.say("eve", "three", { place: { chat: "h", kind: "group" } });
    await taking.say("eve", "in private");
    expect(await taking.fates()).toEqual([
      "waiting",
      "refused: the sender has had the turns of an hour (1)",
      "waiting",
      "waiting",
      "waiting",
      "waiting",
      "waiting",
      "refused: the sender is not allowed here",
    ]);
  });
});
