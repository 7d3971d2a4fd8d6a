import { describe, expect, it } from "vitest";
import type { Place } from "../../src/core/events.ts";
import { chatOf } from "../../src/store/chats.ts";
import { ANSWER_WITHIN_MS, choiceKey, insertQuestion } from "../../src/store/choices.ts";
import { onStore } from "../support/database.ts";
import { type Taking, takingIn } from "./set-up.ts";

const open = onStore();
const GROUP: Place = { chat: "g", kind: "group" };
const ADAS: Place = { chat: "ada", kind: "private" };

/** The agent has asked something; gives the keys of its buttons. */
async function ask(
  taking: Taking,
  labels: readonly string[],
  { place = ADAS, person = "ada" }: { readonly place?: Place; readonly person?: string } = {},
): Promise<readonly string[]> {
  const choices = labels.map((label) => ({ label, key: choiceKey() }));
  await taking.database.db.transaction().execute(async (trx) =>
    insertQuestion(trx, {
      chat: await chatOf(trx, "toy", place),
      person,
      rendered: { text: "Tea or coffee?", marks: [{ type: "bold", offset: 0, length: 3 }] },
      choices,
      expiresAt: taking.clock.now() + ANSWER_WITHIN_MS,
    }),
  );
  return choices.map(({ key }) => key);
}

/** What the agent is given next, by the texts of the messages that wait. */
async function waiting(taking: Taking): Promise<readonly string[]> {
  const rows = await taking.database.db
    .selectFrom("inbox")
    .select("payload")
    .where("state", "=", "waiting")
    .orderBy("id")
    .execute();
  return rows.map(({ payload }) => (JSON.parse(payload) as { content: [{ text: string }] }).content[0].text);
}

describe("a pressed button", () => {
  it("becomes a message of who pressed it, and the question shows what was chosen", async () => {
    const taking = takingIn(await open());
    const [tea = ""] = await ask(taking, ["Tea", "Coffee"]);
    expect(await taking.press("ada", tea)).toBeUndefined();
    expect(await waiting(taking)).toEqual(["Tea"]);
    expect(await taking.planned()).toEqual([{ to: "ada", text: "Tea or coffee? — ✓ Tea", replaces: "q1" }]);
    const [{ body } = { body: "" }] = await taking.database.db.selectFrom("piece").select("body").execute();
    expect(body).toContain('"marks":[{"type":"bold","offset":0,"length":3}]');
    expect(taking.effects).toContain("turn 1");
    const [row] = await taking.database.db.selectFrom("inbox").select(["due_at", "sender"]).execute();
    expect(row).toEqual({ due_at: taking.clock.now(), sender: "ada" });
  });

  it("ends all buttons of its question, whoever may press them, and is known when it is handed over again", async () => {
    const taking = takingIn(await open(), { allow: ["ada", "bob"] });
    const [tea = "", coffee = ""] = await ask(taking, ["Tea", "Coffee"], { place: GROUP, person: "" });
    expect(await taking.press("bob", tea, { id: "p1", place: GROUP })).toBeUndefined();
    expect(await taking.press("bob", tea, { id: "p1", place: GROUP })).toBeUndefined();
    expect(await taking.press("ada", coffee, { id: "p2", place: GROUP })).toBe("That was answered already.");
    expect(await taking.press("ada", coffee, { id: "p2", place: GROUP })).toBeUndefined();
    expect(await waiting(taking)).toEqual(["Tea"]);
    expect(await taking.planned()).toHaveLength(1);
    expect(await taking.fates()).toEqual(["waiting", "refused: the question was answered already"]);
  });

  it("complaint 63: is for the person and the chat that it was shown to, and for nobody who may not talk there", async () => {
    const taking = takingIn(await open(), { allow: ["ada", "bob"] });
    const [tea = ""] = await ask(taking, ["Tea"], { place: GROUP });
    const [any = ""] = await ask(taking, ["Any"], { place: GROUP, person: "" });
    for (const [person, key, place] of [
      ["bob", tea, GROUP],
      ["ada", tea, ADAS],
      ["eve", any, GROUP],
    ] as const)
      expect(await taking.press(person, key, { place })).toBe("That is not for you.");
    taking.rules({ toy: { allow: [], deny: ["ada"] } });
    expect(await taking.press("ada", tea, { place: GROUP })).toBe("That is not for you.");
    expect(await waiting(taking)).toEqual([]);
    taking.rules({ toy: { allow: ["ada"] } });
    expect(await taking.press("ada", tea, { place: GROUP })).toBeUndefined();
  });

  it("complaint 63: has expired after a day, or where nobody knows it; the question shows that, once", async () => {
    const taking = takingIn(await open());
    const [tea = "", coffee = ""] = await ask(taking, ["Tea", "Coffee"]);
    expect(await taking.press("ada", "ZZZZZZZZ")).toBe("That has expired.");
    await taking.clock.advance(ANSWER_WITHIN_MS);
    expect(await taking.press("ada", tea)).toBe("That has expired.");
    expect(await taking.press("ada", coffee)).toBe("That has expired.");
    expect(await taking.fates()).toEqual([
      "refused: the button is not known, or not any more",
      "refused: the question has expired",
      "refused: the question has expired",
    ]);
    expect(await taking.planned()).toEqual([
      { to: "ada", text: "Tea or coffee? — That has expired.", replaces: "q1" },
    ]);
  });

  it("is no command, whatever the agent has written on it", async () => {
    const taking = takingIn(await open(), { owner: "ada" });
    for (const label of ["/new", "/pair ABCDEFGH", "/start abcdefgh"]) {
      const [key = ""] = await ask(taking, [label]);
      expect(await taking.press("ada", key)).toBeUndefined();
    }
    expect(await waiting(taking)).toEqual(["/new", "/pair ABCDEFGH", "/start abcdefgh"]);
  });

  it("counts among the turns of an hour", async () => {
    const taking = takingIn(await open(), { open: true, turnsPerHour: 1 });
    const place: Place = { chat: "eve", kind: "private" };
    const [tea = ""] = await ask(taking, ["Tea"], { place, person: "eve" });
    await taking.say("eve", "one");
    expect(await taking.press("eve", tea)).toBe(
      "You have had your answers of this hour (1); please try again in 60 min.",
    );
    await taking.clock.advance(3_600_000);
    expect(await taking.press("eve", tea)).toBeUndefined();
    expect(await waiting(taking)).toEqual(["one", "Tea"]);
  });

  it("is taken where the platform does not show its message any more; nothing can take that one's place", async () => {
    const taking = takingIn(await open());
    const [tea = ""] = await ask(taking, ["Tea"]);
    await taking.accept({
      type: "choice",
      id: "p1",
      place: ADAS,
      from: { id: "ada", name: "Ada" },
      sentAt: "",
      key: tea,
    });
    expect(await waiting(taking)).toEqual(["Tea"]);
    expect(await taking.planned()).toEqual([]);
  });
});
