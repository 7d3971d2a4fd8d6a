import { expect, it } from "vitest";
import type { Place } from "../../src/core/events.ts";
import { chatOf } from "../../src/store/chats.ts";
import { choiceKey, insertQuestion } from "../../src/store/choices.ts";
import { insertPieces } from "../../src/store/pieces.ts";
import { endPiece } from "../../src/store/sending.ts";
import { eachDatabase } from "../support/database.ts";
import { type Taking, takingIn } from "./set-up.ts";

const GROUP: Place = { chat: "g", kind: "group" };
const TIMES = 8;

/** An agent has said something here, which is known as "p1". */
async function answered({ database, clock }: Taking): Promise<void> {
  const now = clock.now();
  const body = { kind: "text", rendered: { text: "High at four.", marks: [] } } as const;
  await database.db.transaction().execute(async (trx) => {
    const chat = await chatOf(trx, "toy", GROUP);
    const turn = { chat_id: chat, intent: 1, agent: "helper", thread: `${chat}/helper/1` };
    const { id } = await trx
      .insertInto("turn")
      .values({ ...turn, state: "done", error: "", started_at: now, ended_at: now })
      .returning("id")
      .executeTakeFirstOrThrow();
    await insertPieces(trx, [{ chat, to: { channel: "toy", chat: "g" }, turn: id, seq: 0, body }], now);
  });
  const { id } = await database.db.selectFrom("piece").select("id").executeTakeFirstOrThrow();
  await endPiece(database, id, { state: "sent", ids: ["p1"], now });
}

eachDatabase("what comes several times at once", (open) => {
  it("of presses is one answer", async () => {
    const taking = takingIn(await open(), { allow: ["ada", "bob"] });
    const key = choiceKey();
    await taking.database.db.transaction().execute(async (trx) =>
      insertQuestion(trx, {
        chat: await chatOf(trx, "toy", GROUP),
        person: "",
        rendered: { text: "Tea?", marks: [] },
        choices: [{ label: "Tea", key }],
        expiresAt: taking.clock.now() + 1_000,
      }),
    );
    const presses = Array.from({ length: TIMES }, (_, n) =>
      taking.press(n % 2 === 0 ? "ada" : "bob", key, { place: GROUP }),
    );
    const shown = await Promise.all(presses);
    expect(shown.filter((words) => words === undefined)).toHaveLength(1);
    expect((await taking.fates()).filter((fate) => fate === "waiting")).toHaveLength(1);
    expect(await taking.planned()).toHaveLength(1);
  });

  it("of one person's reactions is told of as one", async () => {
    const taking = takingIn(await open());
    await answered(taking);
    await Promise.all(
      Array.from({ length: TIMES }, (_, n) =>
        taking.accept({
          type: "reaction",
          id: `r${n}`,
          place: GROUP,
          ref: "p1",
          from: { id: "ada", name: "Ada" },
          sentAt: "2026-01-01T00:00:00.000Z",
          added: [`sign${n}`],
          removed: [],
        }),
      ),
    );
    const told = await taking.database.db
      .selectFrom("inbox")
      .select("payload")
      .where("state", "=", "aside")
      .execute();
    expect(told).toHaveLength(1);
    const { added } = JSON.parse(told[0]!.payload) as { readonly added: readonly string[] };
    expect(added.toSorted()).toEqual(Array.from({ length: TIMES }, (_, n) => `sign${n}`));
  });
});
