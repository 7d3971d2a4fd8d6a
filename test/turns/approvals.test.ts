import { describe, expect, it } from "vitest";
import { ADA, approvalPerch as setUp, BOB, GROUP, MINUTE_MS } from "./approval-perch.ts";

describe("a call that waits for a yes", () => {
  it("is not made, and people are asked with what it is called with; a yes makes it once, and the agent tells what came of it", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("it says: Not run yet");
    const question = await perch.until("May answer");
    expect(question).toMatchObject({ choices: ["Allow", "Refuse"] });
    expect(perch.asked()).toContain('May "helper" run "write_file"?');
    expect(perch.asked()).toContain(
      'content: "a\\n\\u0060\\u0060\\u0060\\nMay \\"helper\\" run \\"nothing\\"?"',
    );
    expect(perch.asked()).toContain("May answer: the owner, until");
    expect(perch.asked().match(/^May /gm)).toHaveLength(2);
    expect(perch.file("a")).toBeUndefined();
    expect(await perch.press("Allow")).toBeUndefined();
    await perch.until("it says: Success");
    await perch.until("✓ allowed by Ada");
    expect(perch.file("a")).toContain("a\n```");
    expect(await perch.press("Allow")).toBe("That was answered already.");
    expect(await perch.press("Refuse")).toBe("That was answered already.");
    expect(await perch.state()).toEqual(["approved"]);
    // The thread is whole: the next turn goes on in it.
    await perch.says("thanks");
    await perch.until("heard: thanks");
    const told = JSON.stringify(perch.model.requests.at(-1)?.body["messages"]);
    expect(told).toContain(
      '[allowed by Ada: your call of \\"write_file\\" that waited for approval is made now',
    );
  });

  it("is not made after a no, and the agent is told with its next turn, once", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("May answer");
    expect(await perch.press("Refuse")).toBeUndefined();
    await perch.until("✗ refused by Ada");
    await perch.says("so?");
    const { text } = await perch.until("heard:");
    expect(text).toContain(
      '[refused by Ada: your call of "write_file" that waited for approval was not made',
    );
    await perch.says("really?");
    await perch.until("heard: really?");
    expect(perch.file("a")).toBeUndefined();
  });

  it("waits over a restart, and expires: found by the sweep, shown, and late presses are told so", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("May answer");
    await perch.killed();
    await perch.says("/pending");
    expect((await perch.until("Waiting for an answer")).text).toContain('"write_file", for the owner, until');
    await perch.killed();
    await perch.clock.advance(61 * MINUTE_MS);
    await perch.until("That has expired.");
    expect(await perch.state()).toEqual(["expired"]);
    expect(await perch.press("Allow")).toBe("That has expired.");
    await perch.says("so?");
    expect((await perch.until("heard:")).text).toContain("[not answered in time: your call of");
    await perch.says("/pending");
    await perch.until("Nothing waits for an answer here.");
    expect(perch.file("a")).toBeUndefined();
  });

  it("is allowed after a restart between question and answer", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("May answer");
    await perch.killed();
    await perch.press("Allow");
    await perch.until("it says: Success");
    expect(perch.file("a")).toContain("a\n```");
  });

  it("is asked about by itself where one message makes several, and each is decided by itself", async () => {
    const perch = await setUp();
    await perch.says("write a b");
    await perch.platform.until((all) => all.filter(({ text }) => text.includes("May answer")).length === 2);
    // Which of them stands first is not what this is about.
    await perch.press("Allow", ADA, undefined, 0);
    await perch.press("Refuse", ADA, undefined, 1);
    await perch.until("it says: Success");
    expect((await perch.state()).toSorted()).toEqual(["approved", "refused"]);
    expect([perch.file("a"), perch.file("b")].filter((file) => file !== undefined)).toHaveLength(1);
  });

  it("ends with its thread", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.until("May answer");
    await perch.says("/new");
    await perch.until("A fresh start");
    expect(await perch.press("Allow")).toBe("That has expired.");
    expect(await perch.state()).toEqual(["expired"]);
  });
});

describe("who may say yes to a call", () => {
  it("complaint 63: is in a group the owner alone, whoever presses; others talk on meanwhile and are answered", async () => {
    const perch = await setUp();
    await perch.says("write a", BOB, GROUP);
    await perch.until("May answer: the owner");
    expect(await perch.press("Allow", BOB, GROUP)).toBe("That is not for you.");
    await perch.platform.react(GROUP, perch.platform.refOf(perch.question()?.text ?? ""), {
      from: BOB,
      added: ["👍"],
    });
    const ref = perch.platform.refOf(perch.question()?.text ?? "");
    await perch.says("yes", BOB, GROUP, { quote: { text: "May", ref } });
    await perch.until("That is not for you.");
    expect(await perch.state()).toEqual(["open"]);
    await perch.says("and you?", BOB, GROUP);
    await perch.until("and you?");
    await perch.says("hello", BOB);
    await perch.until("heard: hello");
    expect(perch.file("a")).toBeUndefined();
    expect(await perch.press("Allow", ADA, GROUP)).toBeUndefined();
    await perch.until("it says: Success");
    expect(perch.file("a")).toContain("a");
  });

  it("is asked in the owner's own chat about what somebody else's needs, and the result is told where it was wished for", async () => {
    const perch = await setUp();
    await perch.says("hello");
    await perch.until("heard: hello");
    await perch.says("write a", BOB);
    const question = await perch.until("May answer: the owner");
    expect(question.chat).toBe("ada");
    expect(perch.asked()).toContain('"Bob" is waiting: may "helper" run "write_file" for them?');
    await perch.press("Allow");
    expect((await perch.until("it says: Success")).chat).toBe("bob");
    expect(perch.file("a", 2)).toContain("a");
  });

  it("is whoever is answered where nobody owns the connection, or the operator wants that", async () => {
    const perch = await setUp({ approve: { who: "asker" } });
    await perch.says("write a", BOB, GROUP);
    await perch.until('May answer: "Bob"');
    expect(await perch.press("Allow", ADA, GROUP)).toBe("That is not for you.");
    expect(await perch.press("Allow", BOB, GROUP)).toBeUndefined();
    await perch.until("it says: Success");
  });

  it("is everybody who may talk there where the operator wants that, and nobody else", async () => {
    const perch = await setUp({ approve: { who: "anyone" } });
    await perch.says("write a", BOB, GROUP);
    await perch.until("May answer: everybody here");
    expect(await perch.press("Allow", { id: "eve", name: "Eve" }, GROUP)).toBe("That is not for you.");
    expect(await perch.press("Allow", ADA, GROUP)).toBeUndefined();
    await perch.until("✓ allowed by Ada");
  });
});

describe("a yes or no without a button", () => {
  const COLOURED = "👍🏽";

  it.each([
    ["a reaction", "👍", "approved"],
    ["a reaction of another colour", COLOURED, "approved"],
    ["a reaction", "❌", "refused"],
  ])("is %s: %s", async (_what, sign, state) => {
    const perch = await setUp({ choices: 0 });
    await perch.says("write a");
    const { text, choices } = await perch.until("May answer");
    await perch.placed();
    expect(choices).toBeUndefined();
    const at = { chat: "ada", kind: "private" } as const;
    await perch.platform.react(at, perch.platform.refOf(text), { added: ["🙈"] });
    expect(await perch.state()).toEqual(["open"]);
    await perch.platform.react(at, perch.platform.refOf(text), { added: [sign] });
    expect(await perch.state()).toEqual([state]);
  });

  it.each([
    ["yes", "approved"],
    ["Ja!", "approved"],
    ["ok.", "approved"],
    ["Nein", "refused"],
    ["no", "refused"],
    ["yes, but later", "open"],
    ["why?", "open"],
  ])("are words as a reply, or alone where nothing else can be meant: %s", async (words, state) => {
    const perch = await setUp();
    await perch.says("write a");
    const { text } = await perch.until("May answer");
    await perch.placed();
    await perch.says(words);
    expect(await perch.state()).toEqual([state]);
    if (state !== "open") {
      await perch.until(state === "approved" ? "✓ allowed" : "✗ refused");
      return;
    }
    await perch.until(`heard: ${words}`);
    // Something was said below the question by now: only a reply names it.
    await perch.says("yes");
    await perch.until("heard: yes");
    expect(await perch.state()).toEqual(["open"]);
    const quote = { text, ref: perch.platform.refOf(text) };
    await perch.says("yes", ADA, undefined, { quote });
    expect(await perch.state()).toEqual(["approved"]);
    await perch.until("✓ allowed");
    await perch.says("no", ADA, undefined, { quote });
    await perch.until("That was answered already.");
  });

  it("counts once, whatever comes at the same time", async () => {
    const perch = await setUp();
    await perch.says("write a");
    const { text } = await perch.until("May answer");
    await perch.placed();
    const ref = perch.platform.refOf(text);
    const at = { chat: "ada", kind: "private" } as const;
    const [first, second] = await Promise.all([
      perch.press("Allow"),
      perch.press("Allow"),
      perch.platform.react(at, ref, { added: ["👍"] }),
      perch.says("yes", ADA, undefined, { quote: { text, ref } }),
    ]);
    expect([first, second]).toContain("That was answered already.");
    await perch.until("it says: Success");
    const rows = await perch.db().selectFrom("inbox").select("id").where("task", "=", "approved").execute();
    expect(rows).toHaveLength(1);
    expect(perch.platform.shown.filter(({ text: said }) => said.startsWith("it says: Success"))).toHaveLength(
      1,
    );
  });
});
