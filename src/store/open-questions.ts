import type { Answerer } from "../core/approvals.ts";
import type { PlatformId } from "../core/channel.ts";
import type { ChatAddress, ChatId, ThreadId } from "../core/identity.ts";
import type { Rendered } from "../core/tree.ts";
import { addressOf } from "./chats.ts";
import { asksQuestion, goesOnInThread, isOpenQuestion } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** A question of a graph's, for whoever may answer. */
export type OpenInterrupt = { readonly interrupt: string; readonly person: string; readonly answer: string };

/** What may be answered in a thread now, and what the events named `by` have answered with a button. */
export async function interruptsIn(
  db: Queries,
  thread: ThreadId,
  { by, now }: { readonly by: readonly string[]; readonly now: number },
): Promise<readonly OpenInterrupt[]> {
  return await db
    .selectFrom("question")
    .select(["interrupt", "person", "answer"])
    .where(goesOnInThread)
    .where("thread", "=", thread)
    .where("interrupt", "!=", "")
    .where((eb) =>
      eb.or([
        eb.and([eb("used_at", "=", 0), eb("expires_at", ">", now)]),
        ...(by.length === 0 ? [] : [eb("answer", "in", by)]),
      ]),
    )
    .execute();
}

/** A question whose time is over, and where it stands; without `refs` it was not sent. */
export type Overdue = {
  readonly question: string;
  readonly approval: string;
  readonly rendered: Rendered;
  readonly chat: ChatId;
  readonly to: ChatAddress | undefined;
  readonly refs: readonly PlatformId[];
};

/** Those that something waits for; of a plain offer nobody has to be told. */
export async function overdueQuestions(db: Queries, now: number, most: number): Promise<readonly Overdue[]> {
  const rows = await db
    .selectFrom("question")
    .leftJoin("piece", (join) => join.onRef("piece.question", "=", "question.id").on(asksQuestion))
    .select([
      "question.id as question",
      "question.approval",
      "question.rendered",
      "question.chat_id as chat",
      "piece.channel",
      "piece.to_chat",
      "piece.to_topic",
      "piece.platform_ids",
    ])
    .where(isOpenQuestion)
    .where(goesOnInThread)
    .where("question.expires_at", "<=", now)
    .orderBy("question.expires_at")
    .limit(most)
    .execute();
  return rows.map(({ question, approval, rendered, chat, ...piece }) => ({
    question,
    approval,
    rendered: JSON.parse(rendered) as Rendered, // written by insertQuestion
    chat,
    to:
      piece.channel === null
        ? undefined
        : addressOf(piece.channel, piece.to_chat ?? "", piece.to_topic ?? ""),
    refs: JSON.parse(piece.platform_ids ?? "[]") as readonly PlatformId[], // as endPiece writes them
  }));
}

/** The question is not sent any more where it was not yet. */
export async function dropUnsent(trx: Queries, question: string, now: number): Promise<void> {
  await trx
    .updateTable("piece")
    .set({ state: "cancelled", body: "", ended_at: now })
    .where(asksQuestion)
    .where("question", "=", question)
    .where("state", "in", ["planned", "parked"])
    .execute();
}

/** What waits in the threads of an agent's in a chat is over now: its thread was ended. */
export async function endQuestions(trx: Queries, thread: ThreadId, now: number): Promise<void> {
  await trx
    .updateTable("question")
    .set({ expires_at: now })
    .where(goesOnInThread)
    .where("thread", "=", thread)
    .where("used_at", "=", 0)
    .where("expires_at", ">", now)
    .execute();
}

/** What a chat waits to be told, for who asks; also what is decided here about another chat. */
export type Pending = {
  /** "" for a question of a graph's. */
  readonly tool: string;
  readonly who: Answerer | "";
  /** What whoever asked for it is called; "" for a question of a graph's. */
  readonly asker: string;
  readonly expiresAt: number;
};

export async function pendingIn(db: Queries, chat: ChatId, now: number): Promise<readonly Pending[]> {
  const rows = await db
    .selectFrom("question")
    .leftJoin("approval", "approval.id", "question.approval")
    .select(["approval.tool", "approval.who", "approval.asker", "question.expires_at as expiresAt"])
    .where(isOpenQuestion)
    .where(goesOnInThread)
    .where("question.expires_at", ">", now)
    .where((eb) => eb.or([eb("question.chat_id", "=", chat), eb("approval.chat_id", "=", chat)]))
    .orderBy("question.expires_at")
    .orderBy("question.id")
    .execute();
  return rows.map(({ tool, who, asker, expiresAt }) => ({
    tool: tool ?? "",
    who: who ?? "",
    asker: asker ?? "",
    expiresAt,
  }));
}
