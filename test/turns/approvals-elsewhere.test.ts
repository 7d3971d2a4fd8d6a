import { describe, expect, it } from "vitest";
import { GatewayError } from "../../src/core/errors.ts";
import { ADA, approvalPerch, BOB, GROUP } from "./approval-perch.ts";

const CAROL = { id: "carol", name: "Carol" };
const PRIVATE = (chat: string) => ({ chat, kind: "private" }) as const;

/** Ada owns the connection and has a chat of her own there. */
async function setUp(options: Parameters<typeof approvalPerch>[0] = {}) {
  const perch = await approvalPerch({ rules: { allow: ["ada", "bob", "carol"] }, ...options });
  await perch.says("hello");
  await perch.until("heard: hello");
  return perch;
}

describe("what the owner decides about somebody else's chat", () => {
  it("is asked in the owner's own chat, whatever they have allowed before", async () => {
    const perch = await setUp();
    await perch.says("write a", BOB);
    await perch.until("May answer");
    await perch.clock.advance(1_000);
    await perch.press("Allow");
    expect((await perch.until("it says: Success")).chat).toBe("bob");
    await perch.says("write c", CAROL);
    await perch.platform.until((all) => all.filter(({ text }) => text.includes("May answer")).length === 2);
    expect(
      perch.platform.shown.filter(({ text }) => text.includes("May answer")).map(({ chat }) => chat),
    ).toEqual(["ada", "ada"]);
  });

  it("is asked there too where the agent calls again behind a yes, and it is the asker's turn", async () => {
    const perch = await setUp();
    await perch.says("write a then b", BOB);
    await perch.until("May answer");
    await perch.press("Allow");
    await perch.until("b.txt");
    await perch.platform.until((all) => all.filter(({ text }) => text.includes("May answer")).length === 2);
    expect(perch.question()?.chat).toBe("ada");
    expect(perch.asked().match(/"Bob" is waiting/g)).toHaveLength(2);
  });

  it("is asked in the owner's language", async () => {
    const perch = await setUp();
    await perch.says(
      "Guten Morgen, ich hätte gerne, dass du das für mich in eine Datei schreibst: write a",
      BOB,
    );
    const { chat } = await perch.until("May answer");
    expect(chat).toBe("ada");
    expect(perch.asked()).toContain('"Bob" is waiting: may "helper" run');
  });

  it("is not asked in a chat where the owner of the account has only written by hand", async () => {
    const perch = await setUp();
    await perch.platform.say("carol", "I am on my way", {
      from: ADA,
      place: PRIVATE("carol"),
      own: true,
      addressed: false,
    });
    await perch.says("write a", BOB);
    expect((await perch.until("May answer")).chat).toBe("ada");
  });
});

describe("a yes in words", () => {
  it("is none to a question that nobody has been shown yet", async () => {
    const perch = await setUp({ choices: 0 });
    perch.platform.outcome = ({ body }) =>
      body.kind === "text" && body.rendered.text.includes("May ") ? later() : "shown";
    await perch.says("write a");
    await perch.until("it says: Not run yet");
    await perch.says("yes");
    expect(await perch.state()).toEqual(["open"]);
  });

  it("is none where the owner of the account writes by hand to somebody else", async () => {
    const perch = await setUp({ approve: { who: "anyone" } });
    await perch.says("write a", BOB);
    await perch.placed();
    await perch.platform.say("bob", "ok", { from: ADA, place: PRIVATE("bob"), own: true });
    expect(await perch.state()).toEqual(["open"]);
  });

  it("is none where it is forwarded, quotes somebody else's message, is a caption, or comes as an edit", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.placed();
    await perch.says("yes", ADA, undefined, { forward: { name: "Eve" } });
    await perch.says("yes", ADA, undefined, { quote: { text: "lunch?", ref: "m1" } });
    const said = await perch.platform.say("ada", [
      { type: "text", text: "yes" },
      { type: "unfetched", kind: "image", ref: "none", declared: {} },
    ]);
    await perch.platform.edit(said, "yes");
    expect(await perch.state()).toEqual(["open"]);
  });

  it("stays what it was where its message is edited or taken back", async () => {
    const perch = await setUp();
    await perch.says("write a");
    await perch.placed();
    const said = await perch.platform.say("ada", "no", { from: ADA });
    await perch.until("✗ refused");
    const turns = async () => await perch.db().selectFrom("turn").select("id").execute();
    const before = await turns();
    await perch.platform.edit(said, "yes");
    await perch.platform.remove(said.place, said.ref);
    expect(await perch.state()).toEqual(["refused"]);
    expect(await turns()).toEqual(before);
  });

  it("says how it is given where there are no buttons", async () => {
    const perch = await setUp({ choices: 0 });
    await perch.says("write a");
    await perch.placed();
    expect(perch.asked()).not.toContain("button");
    expect(perch.asked()).toContain("yes or no");
  });

  it("shows what came of it where the question stands, also where the chat has moved since", async () => {
    const perch = await setUp({ approve: { who: "anyone" } });
    await perch.says("write a", BOB, GROUP);
    await perch.placed();
    const { text } = perch.question()!;
    const ref = perch.platform.refOf(text);
    await perch.platform.deliver([{ type: "chatMoved", id: "moved", from: GROUP.chat, to: "g2" }]);
    perch.platform.calls.length = 0;
    const seen: (string | undefined)[] = [];
    perch.platform.outcome = ({ to, replaces }) => {
      if (replaces !== undefined) seen.push(`${to.chat}/${replaces}`);
      return "shown";
    };
    await perch.says("yes", BOB, { chat: "g2", kind: "group" });
    await perch.until("it says: Success");
    expect(await perch.state()).toEqual(["approved"]);
    expect(seen).not.toContain(`g2/${ref}`);
  });
});

it("a call that was allowed is none of the turns of an hour: it was asked for with the turn that wished for it", async () => {
  const rules = { allow: [], open: true, turnsPerHour: 2 };
  const perch = await approvalPerch({ approve: { who: "asker" }, rules });
  await perch.says("write a", BOB);
  await perch.placed();
  await perch.press("Allow", BOB);
  await perch.until("it says: Success");
  await perch.says("thanks", BOB);
  expect((await perch.until("heard: thanks")).chat).toBe("bob");
});

it("whoever presses a button to no end is told so in the language of the chat", async () => {
  const perch = await setUp();
  await perch.says("Guten Morgen, ich hätte gerne, dass du das in eine Datei schreibst: write a");
  await perch.until("Antworten darf");
  await perch.press("Erlauben");
  await perch.until("✓ erlaubt von Ada");
  expect(await perch.press("Ablehnen")).toBe("Das wurde schon beantwortet.");
});

it("signs that say both yes and no at once are no answer", async () => {
  const perch = await setUp();
  await perch.says("write a");
  await perch.placed();
  const ref = perch.platform.refOf(perch.question()?.text ?? "");
  await perch.platform.react(PRIVATE("ada"), ref, { added: ["👍", "👎"] });
  expect(await perch.state()).toEqual(["open"]);
  await perch.platform.react(PRIVATE("ada"), ref, { removed: ["👍"] });
  expect(await perch.state()).toEqual(["open"]);
});

function later(): GatewayError {
  return new GatewayError("channel.unreachable", "not now", { retryAfterMs: 60_000 });
}
