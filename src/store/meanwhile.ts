import type { ChatId } from "../core/identity.ts";
import type { During } from "../core/rules.ts";
import type { Database } from "./database.ts";
import { catchUp } from "./given-back.ts";
import { heldAs } from "./holds.ts";
import { type WaitingMessage, withTrace } from "./inbox.ts";
import { isOpenMessage } from "./open-rows.ts";
import { type Speaker, speakerNumbers } from "./speakers.ts";
import type { Queries } from "./tables.ts";
import { attachmentsOf, saidBy, toWaiting } from "./waiting.ts";
import { rowIdsOf, type Intent, isOf, type RunningTurn, waitingIntents } from "./waiting-intents.ts";

/** What was said while a turn ran and is to be shown to its agent. */
export type SteeredIntent = { readonly intent: number; readonly messages: readonly WaitingMessage[] };

/** What is to become of what waits in a chat. Asked before each step of an agent, and mostly for nothing. */
export async function duringsIn(database: Database, chat: ChatId): Promise<readonly (During | "")[]> {
  const rows = await database.db
    .selectFrom("inbox")
    .select("during")
    .distinct()
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .execute();
  return rows.map(({ during }) => during);
}

/**
 * Gives a turn what waits for its agent's next step, in order and no more of it than stands before all else that waits: a
 * message for another thread, one whose window is open or whose media are still to be fetched, or one that is to have a turn
 * of its own lets nothing past it.
 * @throws GatewayError "store.hold_lost" when somebody else holds the chat by now.
 */
export async function claimSteered(
  database: Database,
  turn: RunningTurn,
  now: number,
): Promise<readonly SteeredIntent[]> {
  const { chat } = turn.hold;
  return await database.light(async (trx) => {
    const { cutOff } = await heldAs(trx, turn.hold);
    if (cutOff) return [];
    const waiting = await waitingIntents(trx, chat);
    const joining = before(waiting, (rows) => !isSteered(rows, turn) || !isClosed(rows, now));
    const attachments = await attachmentsOf(trx, joining.flat());
    const lacking = new Set(
      attachments.filter(({ state }) => state === "waiting").map(({ inbox_id: id }) => id),
    );
    const taken = before(joining, (rows) => rows.some(({ id }) => lacking.has(id)));
    if (taken.length === 0) return [];
    const rows = taken.flat();
    await trx
      .updateTable("inbox")
      .set((eb) => ({
        state: "claimed",
        claims: eb("claims", "+", 1),
        turn_id: turn.id,
        trace: withTrace({ at: now, step: "steered", turn: turn.id }),
      }))
      .where("id", "in", rowIdsOf(rows))
      .execute();
    const speakers = await numbersOf(trx, chat, rows.map(saidBy));
    return taken.map((messages) => ({
      intent: messages[0].intent,
      messages: messages.map((row) => toWaiting(row, attachments, speakers)),
    }));
  });
}

/** What of these intents still waits: an answer that was not committed stands in the thread behind it. */
export async function steeredBefore(
  database: Database,
  chat: ChatId,
  intents: readonly number[],
): Promise<readonly SteeredIntent[]> {
  const waiting = await waitingIntents(database.db, chat);
  const found = waiting.filter(([{ intent }]) => intents.includes(intent));
  const attachments = await attachmentsOf(database.db, found.flat());
  return found.map((rows) => ({
    intent: rows[0].intent,
    messages: rows.map((row) => toWaiting(row, attachments, new Map())),
  }));
}

/**
 * In the transaction that ends a turn: what was steered into it ends with it. Of a turn that was stopped all of it does, else
 * what its answer was given with, also in an earlier attempt. Gives the rows.
 */
export async function endSteered(
  trx: Queries,
  turn: RunningTurn,
  end: { readonly intents: readonly number[] | "all"; readonly error: string; readonly now: number },
): Promise<readonly number[]> {
  const { intents, error, now } = end;
  if (intents.length === 0) return [];
  const rows = await trx
    .updateTable("inbox")
    .set({
      state: "consumed",
      payload: "",
      turn_id: turn.id,
      ended_at: now,
      trace: withTrace({ at: now, step: "consumed", turn: turn.id, with: turn.intent, error }),
    })
    .where("chat_id", "=", turn.hold.chat)
    .where(isOpenMessage)
    .where("intent", ">", 0)
    .where((eb) =>
      intents === "all"
        ? eb.and([eb("state", "=", "claimed"), eb("turn_id", "=", turn.id)])
        : eb("intent", "in", intents),
    )
    .returning("id")
    .execute();
  return rowIdsOf(rows);
}

/**
 * The same for what its answer was not given with: it waits for a turn of its own, as if this one had never been told of it.
 */
export async function giveBackSteered(
  trx: Queries,
  turn: Pick<RunningTurn, "id" | "intent">,
  now: number,
): Promise<void> {
  const given = await trx
    .updateTable("inbox")
    .set((eb) => ({
      state: "waiting",
      during: "",
      claims: eb("claims", "-", 1),
      turn_id: 0,
      trace: withTrace({ at: now, step: "not answered with it", turn: turn.id }),
    }))
    .where("turn_id", "=", turn.id)
    .where("state", "=", "claimed")
    .where("intent", ">", 0)
    .where("intent", "!=", turn.intent)
    .returning(["id", "chat_id", "channel", "payload", "due_at"])
    .execute();
  await catchUp(trx, given, now);
}

/** Those before the first that is `out`. */
function before<Item>(items: readonly Item[], out: (item: Item) => boolean): readonly Item[] {
  const at = items.findIndex(out);
  return at < 0 ? items : items.slice(0, at);
}

function isSteered(rows: Intent, turn: RunningTurn): boolean {
  return isOf(rows, turn) && rows.every(({ during }) => during === "steer");
}

/** Whether its window is. What came later than now says that the clock was set back. */
function isClosed(rows: Intent, now: number): boolean {
  return rows.every((row) => row.due_at <= now) || rows.some((row) => row.received_at > now);
}

/** Numbers are given in groups alone, where the turn that runs has given out some. */
async function numbersOf(
  trx: Queries,
  chat: ChatId,
  people: readonly Speaker[],
): Promise<ReadonlyMap<string, number>> {
  const { kind } = await trx
    .selectFrom("chat")
    .select("kind")
    .where("id", "=", chat)
    .executeTakeFirstOrThrow();
  return kind === "group" ? await speakerNumbers(trx, chat, people) : new Map();
}
