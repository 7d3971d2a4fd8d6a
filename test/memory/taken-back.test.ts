import { describe, expect, it } from "vitest";
import type { MessageEvent, Place } from "../../src/core/events.ts";
import { facts, type Remembering, setUp } from "./remembering.ts";

const PRIVATE: Place = { chat: "ada", kind: "private" };
const GROUP: Place = { chat: "family", kind: "group" };
const SECRET = "4711-secret";

/** Says something, waits for the answer, and gives what was said. */
async function said(perch: Remembering, text: string, place: Place = PRIVATE): Promise<MessageEvent> {
  const before = perch.platform.textsIn(place.chat).length;
  const event = await perch.platform.say(place.chat, text, { place, whole: true });
  await perch.platform.until(() => perch.platform.textsIn(place.chat).length > before);
  await perch.clock.advance(0);
  return event;
}

describe("what was taken back", () => {
  it.each([PRIVATE, GROUP])("is not gone through, nor what it was answered (%j)", async (place) => {
    const perch = await setUp({ answered: () => `you say ${SECRET}` });
    const secret = await said(perch, `my pin is ${SECRET}`, place);
    await perch.platform.remove(place, secret.ref);
    await perch.clock.advance(30_000);
    await perch.until(() => perch.runs() === 1);
    expect(perch.distilled()).toEqual([]);
    expect(perch.logged.find(({ sentence }) => sentence.endsWith("for memory"))?.fields).toMatchObject({
      facts: 0,
      calls: 0,
    });
  });

  it("is left out of what else is gone through", async () => {
    const perch = await setUp();
    const secret = await said(perch, `my pin is ${SECRET}`);
    await said(perch, "I like tea");
    await perch.platform.remove(PRIVATE, secret.ref);
    await perch.wait(30_000, 1);
    expect(perch.distilled()[0]).toContain("I like tea");
    expect(perch.distilled()[0]).not.toContain(SECRET);
  });

  it("is forgotten where it was remembered, and nothing else", async () => {
    const perch = await setUp();
    perch.note(facts({ content: `has the pin ${SECRET}`, saidAt: 1 }, { content: "likes tea", saidAt: 3 }));
    const secret = await said(perch, `my pin is ${SECRET}`);
    await said(perch, "I like tea");
    await perch.wait(30_000, 1);
    expect(await perch.remembered()).toHaveLength(2);
    await perch.platform.remove(PRIVATE, secret.ref);
    expect(await perch.remembered()).toEqual(["likes tea"]);
  });

  it("is so also when its thread was ended", async () => {
    const perch = await setUp();
    const secret = await said(perch, `my pin is ${SECRET}`);
    await said(perch, "/new");
    await perch.platform.remove(PRIVATE, secret.ref);
    await perch.clock.advance(30_000);
    await perch.until(() => perch.runs() === 1);
    expect(perch.distilled()).toEqual([]);
  });

  it("is not written down by a call that has seen it, which is made anew without it", async () => {
    const perch = await setUp();
    const secret = await said(perch, `my pin is ${SECRET}`);
    await said(perch, "I like tea");
    let release = (): void => {};
    const free = new Promise<void>((resolve) => (release = resolve));
    const asked = new Promise<void>((resolve) => {
      perch.server.on("request", async () => {
        resolve();
        await free;
      });
    });
    perch.note(facts(`has the pin ${SECRET}`), facts("likes tea"));
    await perch.clock.advance(30_000);
    await asked;
    await perch.platform.remove(PRIVATE, secret.ref);
    release();
    await perch.wait(0, 2);
    expect(await perch.remembered()).toEqual(["likes tea"]);
    expect(perch.distilled()[1]).not.toContain(SECRET);
  });
});

describe("what was edited", () => {
  it("holds as it says now; what it said before is neither gone through nor remembered", async () => {
    const perch = await setUp();
    perch.note(facts("lives in Bern"));
    const home = await said(perch, "I live in Bern");
    await perch.wait(30_000, 1);
    await perch.platform.edit(home, "I live in Basel");
    expect(await perch.remembered()).toEqual([]);
    perch.note(facts("lives in Basel"));
    await said(perch, "by the way, hello");
    await perch.wait(30_000, 2);
    expect(perch.distilled()[1]).toContain("> I live in Basel");
    expect(perch.distilled()[1]).toContain("below [edited …] they are what the person says now");
    expect(perch.distilled()[1]).not.toContain("I live in Bern");
    expect(await perch.remembered()).toEqual(["lives in Basel"]);
    // Taken back in the end, nothing of it is left.
    await perch.platform.remove(PRIVATE, home.ref);
    expect(await perch.remembered()).toEqual([]);
  });

  it("before it was gone through is gone through as it says now alone", async () => {
    const perch = await setUp();
    const home = await said(perch, `my pin is ${SECRET}`);
    await perch.platform.edit(home, "I like tea");
    await said(perch, "hello");
    await perch.wait(30_000, 1);
    expect(perch.distilled()[0]).toContain("I like tea");
    expect(perch.distilled()[0]).not.toContain(SECRET);
  });
});

describe("what others have said", () => {
  it("and the person forwards is marked as theirs", async () => {
    const perch = await setUp();
    await perch.platform.say("ada", "listen to that", {
      forward: { from: "Mira" },
      whole: true,
      place: PRIVATE,
    });
    await perch.platform.until(() => perch.platform.textsIn("ada").length === 1);
    await perch.wait(30_000, 1);
    expect(perch.distilled()[0]).toContain("> listen to that");
  });
});
