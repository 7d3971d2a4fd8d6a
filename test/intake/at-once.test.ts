import { expect, it } from "vitest";
import type { Place } from "../../src/core/events.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { noteApproval, notedBy } from "../../src/store/approvals.ts";
import { chatOf, currentThread } from "../../src/store/chats.ts";
import { choiceKey, insertQuestion } from "../../src/store/choices.ts";
import { forgetChat } from "../../src/store/forget.ts";
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

/** A call of an agent's that waits in Bob's chat for Ada's yes; gives Bob's chat and the key of the button. */
async function waitingFor({ database, clock }: Taking, n: number): Promise<{ chat: ChatId; key: string }> {
  const now = clock.now();
  const place: Place = { chat: `bob${n}`, kind: "private" };
  return await database.db.transaction().execute(async (trx) => {
    const chat = await chatOf(trx, "toy", place);
    const asked = await chatOf(trx, "toy", { chat: "ada", kind: "private" });
    const thread = await currentThread(trx, chat, "helper");
    const call = { agent: "helper", message: "msg-1", call: "m/a", tool: "send", args: {}, minutes: 60 };
    const by = { who: "owner", person: "bob", asker: "Bob", place, now } as const;
    await noteApproval(trx, { chat, thread, ...call, ...by });
    const [wish] = await notedBy(trx, { thread, message: "msg-1" });
    const key = choiceKey();
    await insertQuestion(trx, {
      chat: asked,
      person: "",
      rendered: { text: "May I?", marks: [] },
      choices: [{ label: "Allow", key, means: "allow" }],
      expiresAt: now + 1_000,
      waits: { thread, approval: wish?.id ?? "" },
    });
    return { chat, key };
  });
}

eachDatabase("what comes several times at once", (open) => {
  it("of a yes and of forgetting all of its chat leaves nothing that waits for what was forgotten", async () => {
    const taking = takingIn(await open(), { owner: "ada" });
    const { db } = taking.database;
    for (let n = 0; n < TIMES; n += 1) {
      const { chat, key } = await waitingFor(taking, n);
      const forget = { chat, to: { channel: "toy", chat: `bob${n}` }, now: taking.clock.now() };
      await Promise.all([
        db.transaction().execute((trx) => forgetChat(trx, forget)),
        taking.press("ada", key),
      ]);
    }
    const left = await db.selectFrom("inbox").select("state").where("task", "=", "approved").execute();
    expect(left.filter(({ state }) => state === "waiting")).toEqual([]);
  });

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
