import { expect, it } from "vitest";
import type { DeliveryEvent } from "../../src/core/events.ts";
import { plainText } from "../../src/core/rendered.ts";
import { storyOf } from "../../src/store/queue.ts";
import { insertPieces } from "../../src/store/pieces.ts";
import { endPiece } from "../../src/store/sending.ts";
import { claimTurn, commitTurn } from "../../src/store/turns.ts";
import type { Database } from "../../src/store/database.ts";
import { eachDatabase } from "../support/database.ts";
import { takingIn, type Taking } from "./set-up.ts";

const told = ({ clock }: Taking, ref: string, status: DeliveryEvent["status"], ago = 0): DeliveryEvent => ({
  type: "delivery",
  id: `${ref}/${status}`,
  chat: "ada",
  ref,
  status,
  sentAt: new Date(clock.now() - ago).toISOString(),
  ...(status === "refused" ? { why: "WhatsApp did not take it (131047)" } : {}),
});

/** Ada has asked, and was answered with a text and an album. */
async function answered(database: Database): Promise<Taking> {
  const at = takingIn(database);
  const now = at.clock.now();
  await at.say("ada", "hello");
  const { id: chat } = await database.db.selectFrom("chat").select("id").executeTakeFirstOrThrow();
  const claim = await claimTurn(database, chat, { owner: "test", now, until: now + 1, isOpen: () => true });
  if (claim.kind !== "turn") throw new Error("there is a turn");
  const { turn } = claim;
  const text = (words: string) => ({ kind: "text", rendered: plainText(words) }) as const;
  const pieces = ["one", "two"].map((words, seq) => ({
    chat,
    to: turn.to,
    turn: turn.id,
    seq,
    body: text(words),
  }));
  await commitTurn(database, turn, { state: "done", messages: "consumed", error: "", pieces, now });
  await endPiece(database, 1, { state: "sent", ids: ["a"], now });
  await endPiece(database, 2, { state: "sent", ids: ["b", "c"], now });
  await insertPieces(database.db, [{ chat, to: turn.to, turn: 0, seq: 0, body: text("said by us") }], now);
  await endPiece(database, 3, { state: "sent", ids: ["d"], now });
  return at;
}

eachDatabase("what is told of our messages", (open) => {
  const receipts = async ({ database }: Taking): Promise<unknown> =>
    await database.db.selectFrom("sent").select(["ref", "delivered_at", "read_at"]).orderBy("ref").execute();

  it("is that they have arrived and were read; the first time counts, and nothing goes back", async () => {
    const at = await answered(await open());
    const now = at.clock.now();
    await at.accept(told(at, "a", "delivered", 3_000));
    await at.accept(told(at, "a", "delivered"));
    await at.accept(told(at, "b", "read", 2_000));
    await at.accept(told(at, "b", "delivered"));
    await at.accept(told(at, "nobody's", "read"));
    await at.accept({ ...told(at, "c", "read"), chat: "elsewhere" });
    expect(await receipts(at)).toEqual([
      { ref: "a", delivered_at: now - 3_000, read_at: 0 },
      { ref: "b", delivered_at: now - 2_000, read_at: now - 2_000 },
      { ref: "c", delivered_at: 0, read_at: 0 },
      { ref: "d", delivered_at: 0, read_at: 0 },
    ]);
    expect(await at.fates()).toHaveLength(1); // no row for a receipt
    expect((await storyOf(at.database, 1))?.pieces).toMatchObject([
      { state: "sent", deliveredAt: now - 3_000, readAt: 0 },
      { state: "sent", deliveredAt: now - 2_000, readAt: now - 2_000 },
    ]);
  });

  it("is that one was refused after all: its piece has failed, and the chat is told once", async () => {
    const at = await answered(await open());
    at.effects.length = 0;
    for (const ref of ["b", "c", "b", "nobody's"]) await at.accept(told(at, ref, "refused"));
    expect((await storyOf(at.database, 1))?.pieces).toMatchObject([
      { state: "sent", error: "" },
      { state: "failed", error: "WhatsApp did not take it (131047)" },
    ]);
    const said = await at.database.db
      .selectFrom("piece")
      .select("body")
      .where("state", "=", "planned")
      .execute();
    expect(said).toHaveLength(1);
    expect(said[0]?.body).toContain("A part of my answer could not be sent: a message.");
    expect(at.effects).toEqual(["deliver 1"]);
    expect(JSON.stringify(at.logged)).toContain("refused after it was sent");
    expect(JSON.stringify(at.logged)).not.toContain("131047");
  });

  it("says nothing about what Perch itself had said", async () => {
    const at = await answered(await open());
    await at.accept(told(at, "d", "refused"));
    const rows = await at.database.db.selectFrom("piece").select("state").orderBy("id").execute();
    expect(rows.map(({ state }) => state)).toEqual(["sent", "sent", "failed"]);
  });
});
