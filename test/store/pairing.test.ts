import { expect, it } from "vitest";
import { chatOf } from "../../src/store/chats.ts";
import { answerQuestion, choiceKey, choiceOf, insertQuestion } from "../../src/store/choices.ts";
import type { Database } from "../../src/store/database.ts";
import { endPairing, letIn, pairingCode, pairingOf, pendingPairings } from "../../src/store/pairing.ts";
import { allGrants } from "../../src/store/people.ts";
import { renameChannel } from "../../src/store/rename.ts";
import { prune } from "../../src/store/upkeep.ts";
import { eachDatabase } from "../support/database.ts";

const NOW = 1_700_000_000_000;
const HOUR_MS = 3_600_000;

const codeOf = (
  database: Database,
  person: string,
  now = NOW,
  channel = "toy",
): Promise<string | undefined> =>
  database.db.transaction().execute((trx) => pairingCode(trx, { channel, person, now }));

eachDatabase("pairing", (open) => {
  it("gives three people of a connection a code each, for an hour, and knows them by it until it is used", async () => {
    const database = await open();
    const { db } = database;
    const code = (await codeOf(database, "p1")) ?? "";
    expect(code).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
    await codeOf(database, "p2", NOW + 1);
    await codeOf(database, "p3", NOW + 2);
    expect(await codeOf(database, "p4", NOW + 3)).toBeUndefined();
    expect(await codeOf(database, "p4", NOW + 3, "other")).toBeDefined();
    expect(await codeOf(database, "p1", NOW + HOUR_MS - 1)).toBe(code);
    expect((await pendingPairings(db, NOW + HOUR_MS + 1)).map(({ person }) => person)).toEqual(["p3", "p4"]);
    expect(await pairingOf(db, code.toLowerCase(), NOW + HOUR_MS - 1)).toEqual({
      channel: "toy",
      person: "p1",
      createdAt: NOW,
    });
    expect(await pairingOf(db, code, NOW + HOUR_MS)).toBeUndefined();
    expect(await codeOf(database, "p1", NOW + HOUR_MS)).not.toBe(code);
    const p1 = { channel: "toy", person: "p1" };
    expect(await endPairing(db, p1, NOW + HOUR_MS)).toBe(true);
    expect(await endPairing(db, p1, NOW + HOUR_MS)).toBe(false);
  });

  it.each(["\0", "AAAAAAA\0", "\0AAAAAAAA", "AAAAAAA", "AAAAAAAA'", "", "ﬀAAAAAA"])(
    "is not asked for by what is no code: %j",
    async (typed) => {
      const { db } = await open();
      expect([await pairingOf(db, typed, NOW), await choiceOf(db, typed)]).toEqual([undefined, undefined]);
    },
  );

  it("goes with a connection that is renamed, and lets in there", async () => {
    const database = await open();
    const code = (await codeOf(database, "p1")) ?? "";
    await renameChannel(database, "toy", "club");
    const pairing = await pairingOf(database.db, code, NOW);
    expect(pairing?.channel).toBe("club");
    await database.db.transaction().execute(async (trx) => {
      // They have never written since rows are kept: there is nowhere to tell them.
      const by = { grantedBy: "perch pair", sentence: "hi", now: NOW };
      expect(await letIn(trx, { channel: "club", person: "p1" }, by)).toBeUndefined();
    });
    expect(await allGrants(database)).toEqual([
      { channel: "club", person: "p1", role: "allowed", grantedBy: "perch pair", at: NOW },
    ]);
  });
});

eachDatabase("a question", (open) => {
  it("is answered once, by one of two at the same moment, and forgets its words", async () => {
    const database = await open();
    const key = choiceKey();
    await database.db.transaction().execute(async (trx) => {
      const chat = await chatOf(trx, "toy", { chat: "c", kind: "private" });
      const rendered = { text: "Tea?", marks: [] };
      const choices = [{ key, label: "Tea" }];
      await insertQuestion(trx, { chat, person: "ada", rendered, choices, expiresAt: NOW + HOUR_MS });
    });
    const asked = await choiceOf(database.db, key);
    expect(asked).toMatchObject({
      chat: 1,
      person: "ada",
      subject: "",
      label: "Tea",
      means: "say",
    });
    const second = await open(database);
    const answers = await Promise.all(
      [database, second].map(({ db }) => answerQuestion(db, asked?.question ?? "", NOW)),
    );
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await choiceOf(database.db, key)).toMatchObject({ rendered: "" });
    expect(await prune(database, NOW + HOUR_MS)).toBe(0);
    expect(await prune(database, NOW + HOUR_MS + 1)).toBe(1);
    expect(await choiceOf(database.db, key)).toBeUndefined();
  });
});
