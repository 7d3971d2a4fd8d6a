import type { Selectable } from "kysely";
import type { BackgroundTask, TaskStatus } from "../core/background.ts";
import type { ChatAddress, ChatId, ThreadId } from "../core/identity.ts";
import type { Language } from "../core/sentences.ts";
import type { BackgroundTaskRow } from "./agent-tables.ts";
import type { Database } from "./database.ts";
import { forgetEffects } from "./effects.ts";
import { keepStill } from "./holds.ts";
import type { Queries } from "./tables.ts";

/** That one chat may have to be done at once. */
const MOST_OPEN = 10;
const MOST_LISTED = 50;

/** Where a task was begun, and where its end is told. */
export type TaskOrigin = {
  readonly chat: ChatId;
  readonly to: ChatAddress;
  readonly agent: string;
  readonly thread: ThreadId;
  readonly language: Language;
  /** For whose budget it counts; "" where nobody's is known. */
  readonly person: string;
  /** Whether they spoke as the owner. */
  readonly byOwner: boolean;
};

/** Undefined where the chat has too many open ones. */
export async function insertTask(
  database: Database,
  { chat, to, agent, thread, language, person, byOwner }: TaskOrigin,
  { agent: subagent, prompt }: Pick<BackgroundTask, "agent" | "prompt">,
  now: number,
): Promise<{ readonly row: number; readonly task: BackgroundTask } | undefined> {
  return await database.db.transaction().execute(async (trx) => {
    await keepStill(trx, chat); // two that are begun at once have two numbers
    const { last, open } = await trx
      .selectFrom("background_task")
      .select((eb) => [
        eb.fn.max<number | null>("n").as("last"),
        eb.fn
          .count("id")
          .filterWhere((where) => where("status", "in", ["pending", "running"]))
          .as("open"),
      ])
      .where("chat_id", "=", chat)
      .executeTakeFirstOrThrow();
    if (Number(open) >= MOST_OPEN) return undefined;
    const row = await trx
      .insertInto("background_task")
      .values({
        chat_id: chat,
        channel: to.channel,
        to_chat: to.chat,
        to_topic: to.topic ?? "",
        n: (last ?? 0) + 1,
        agent,
        thread,
        language,
        subagent,
        person,
        by_owner: byOwner ? 1 : 0,
        prompt,
        status: "pending",
        told: 0,
        attempts: 0,
        crashes: 0,
        not_before: 0,
        epoch: 0,
        result: "",
        error: "",
        started_at: now,
        ended_at: 0,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return { row: row.id, task: toTask(row) };
  });
}

/** The newest tasks of a chat, in the order of their numbers. */
export async function tasksOf({ db }: Database, chat: ChatId): Promise<readonly BackgroundTask[]> {
  const rows = await db
    .selectFrom("background_task")
    .selectAll()
    .where("chat_id", "=", chat)
    .where("prompt", "!=", "") // of one that is pruned only its number is kept
    .orderBy("n", "desc")
    .limit(MOST_LISTED)
    .execute();
  return rows.toReversed().map(toTask);
}

export async function findTask(
  { db }: Database,
  chat: ChatId,
  id: string,
): Promise<BackgroundTask | undefined> {
  const row = await db
    .selectFrom("background_task")
    .selectAll()
    .where("chat_id", "=", chat)
    .where("n", "=", numberOf(id))
    .where("prompt", "!=", "")
    .executeTakeFirst();
  return row && toTask(row);
}

/** What is to become of a task that has not ended: it is begun anew with an addition, or cancelled. */
export async function changeTask(
  database: Database,
  chat: ChatId,
  id: string,
  change: { readonly addition: string } | { readonly cancelledAt: number },
): Promise<{ readonly row: number; readonly task: BackgroundTask } | undefined> {
  return await database.db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable("background_task")
      .set((eb) => ({
        epoch: eb("epoch", "+", 1),
        ...("addition" in change
          ? { status: "pending" as const, prompt: eb("prompt", "||", `\n\n${change.addition}`) }
          : { status: "cancelled" as const, ended_at: change.cancelledAt, told: 1 }),
        ...("addition" in change ? { attempts: 0, crashes: 0, not_before: 0 } : {}),
      }))
      .where("chat_id", "=", chat)
      .where("n", "=", numberOf(id))
      .where("status", "in", ["pending", "running"])
      .returningAll()
      .executeTakeFirst();
    if (row && "cancelledAt" in change) await forgetEffects(trx, effectsOfTask(row));
    return row && { row: row.id, task: toTask(row) };
  });
}

/** By what the effects of all runs of a task are kept. */
export function effectsOfTask({ id, thread }: Pick<Row, "id" | "thread">): {
  readonly thread: ThreadId;
  readonly message: string;
} {
  return { thread, message: `task-${id}` };
}

/** Forgets what ended before `before` (epoch ms); of the newest of a chat its number stays, so that no other has it. */
export async function pruneTasks(trx: Queries, before: number): Promise<number> {
  const gone = await trx
    .deleteFrom("background_task")
    .where("ended_at", ">", 0)
    .where("ended_at", "<", before)
    .where("told", "=", 1)
    .where("n", "<", (eb) =>
      eb
        .selectFrom("background_task as newer")
        .select((inner) => inner.fn.max("newer.n").as("n"))
        .whereRef("newer.chat_id", "=", "background_task.chat_id"),
    )
    .executeTakeFirstOrThrow();
  await trx
    .updateTable("background_task")
    .set({ prompt: "", result: "" })
    .where("ended_at", ">", 0)
    .where("ended_at", "<", before)
    .where("told", "=", 1)
    .where("prompt", "!=", "")
    .execute();
  return Number(gone.numDeletedRows);
}

/** The tasks of a chat that another one takes over: they are counted on there. */
export async function moveTasks(
  trx: Queries,
  { from, into }: { readonly from: ChatId; readonly into: ChatId },
): Promise<void> {
  const { last } = await trx
    .selectFrom("background_task")
    .select((eb) => eb.fn.max<number | null>("n").as("last"))
    .where("chat_id", "=", into)
    .executeTakeFirstOrThrow();
  await trx
    .updateTable("background_task")
    .set((eb) => ({ chat_id: into, n: eb("n", "+", last ?? 0) }))
    .where("chat_id", "=", from)
    .execute();
}

type Row = Selectable<BackgroundTaskRow>;

export function toTask(row: Row): BackgroundTask {
  return {
    id: `t${row.n}`,
    agent: row.subagent,
    prompt: row.prompt,
    status: row.status satisfies TaskStatus,
    attempts: row.attempts,
    result: row.result,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  };
}

/** "t3" is 3; -1 for what is no such name. */
function numberOf(id: string): number {
  const [, n] = /^t([1-9]\d{0,8})$/.exec(id.trim()) ?? [];
  return n === undefined ? -1 : Number(n);
}
