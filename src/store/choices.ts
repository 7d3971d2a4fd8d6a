import type { Answerer } from "../core/approvals.ts";
import type { Choice, PlatformId } from "../core/channel.ts";
import type { ChannelId, ChatAddress, ChatId, ThreadId } from "../core/identity.ts";
import type { Rendered } from "../core/tree.ts";
import { addressOf } from "./chats.ts";
import { isCode, randomCode } from "./codes.ts";
import type { ChoiceRow } from "./fact-tables.ts";
import { isOpenQuestion } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** How long a question of the agent's can be answered by its buttons. */
export const ANSWER_WITHIN_MS = 24 * 3_600_000;

/** UTF-16 units of a label, also where it is shown again once it was chosen; what is longer no phone shows in a line. */
export const LABEL_LENGTH = 64;
/** How many a question's text must leave free of a message for that: " — ✓ " and the label. */
export const OUTCOME_LENGTH = LABEL_LENGTH + 5;

/** A question that is planned in the same transaction, with buttons. Whichever is pressed first ends all of them. */
export type NewQuestion = {
  readonly chat: ChatId;
  /** Who may answer; "" for everybody who may talk there. */
  readonly person: string;
  /** Whom it is about, where it is not the agent's. */
  readonly subject?: string;
  /** What stands above the buttons; it is shown again, with what was chosen. */
  readonly rendered: Rendered;
  /** None where the channel has no buttons, or nothing was offered: then it is answered in words. */
  readonly choices: readonly NewChoice[];
  readonly expiresAt: number;
  readonly waits?: Waits;
};

/** What goes on in a thread with the answer: a call that waits for it, or what a graph has stopped at. */
export type Waits = { readonly thread: ThreadId } & (
  | { readonly approval: string }
  | { readonly interrupt: string }
);

/** Its key is one of `choiceKey`. Without another meaning, the press says what stands on the button. */
export type NewChoice = Choice & { readonly means?: ChoiceRow["means"] };

/** A new key of a button. It is random, and looked for only in the chat and for the person that it is bound to. */
export function choiceKey(): string {
  return randomCode();
}

/** Gives its id. */
export async function insertQuestion(trx: Queries, question: NewQuestion): Promise<string> {
  const { chat, person, subject = "", rendered, choices, expiresAt, waits } = question;
  const id = randomCode();
  const approval = waits && "approval" in waits ? waits.approval : "";
  await trx
    .insertInto("question")
    .values({
      id,
      chat_id: chat,
      person,
      subject,
      rendered: JSON.stringify(rendered),
      expires_at: expiresAt,
      used_at: 0,
      approval,
      interrupt: waits && "interrupt" in waits ? waits.interrupt : "",
      thread: waits?.thread ?? "",
    })
    .execute();
  if (choices.length > 0)
    await trx
      .insertInto("choice")
      .values(choices.map(({ key, label, means = "say" }) => ({ key, question: id, label, means })))
      .execute();
  if (approval !== "")
    await trx
      .updateTable("approval")
      .set({ state: "open", expires_at: expiresAt })
      .where("id", "=", approval)
      .where("state", "=", "noted")
      .execute();
  return id;
}

/** A question that may have been answered. Times are epoch ms. */
export type Asked = {
  readonly question: string;
  readonly chat: ChatId;
  /** "" for everybody who may talk there. */
  readonly person: string;
  readonly subject: string;
  readonly rendered: string;
  readonly expiresAt: number;
  /** As of `QuestionRow`. */
  readonly approval: string;
  readonly interrupt: string;
  /** Of an approval: who may answer, and the chat in which its call goes on. */
  readonly who: Answerer | null;
  readonly goesOn: ChatId | null;
  /** Where it stands, where that is known. */
  readonly to?: ChatAddress;
};

/** The button of a key, with its question. */
export type AskedChoice = Asked & { readonly label: string; readonly means: ChoiceRow["means"] };

const ASKED = [
  "question.id as question",
  "question.chat_id as chat",
  "question.person",
  "question.subject",
  "question.rendered",
  "question.expires_at as expiresAt",
  "question.approval",
  "question.interrupt",
  "approval.who",
  "approval.chat_id as goesOn",
] as const;

/** `key` is what a press brought, whoever made it up. */
export async function choiceOf(trx: Queries, key: string): Promise<AskedChoice | undefined> {
  if (!isCode(key)) return undefined;
  return await trx
    .selectFrom("choice")
    .innerJoin("question", "question.id", "choice.question")
    .leftJoin("approval", "approval.id", "question.approval")
    .select([...ASKED, "choice.label", "choice.means"])
    .where("choice.key", "=", key)
    .executeTakeFirst();
}

/** The wish for an approval that a message of ours asks for, whether it was answered or not. */
export async function approvalAt(
  trx: Queries,
  at: { readonly channel: ChannelId; readonly chat: string; readonly ref: string },
): Promise<Asked | undefined> {
  const row = await trx
    .selectFrom("sent")
    .innerJoin("piece", "piece.id", "sent.piece_id")
    .innerJoin("question", "question.id", "piece.question")
    .innerJoin("approval", "approval.id", "question.approval")
    .select([...ASKED, ...STANDS])
    .where("sent.channel", "=", at.channel)
    .where("sent.chat", "=", at.chat)
    .where("sent.ref", "=", at.ref)
    .executeTakeFirst();
  return row && whereItStands(row);
}

/** The wishes for approvals that stand open in a chat, the newest first; without `refs` one was not shown yet. */
export async function openApprovalsIn(
  trx: Queries,
  chat: ChatId,
  now: number,
): Promise<readonly (Asked & { readonly piece: number; readonly refs: readonly PlatformId[] })[]> {
  const rows = await trx
    .selectFrom("question")
    .innerJoin("approval", "approval.id", "question.approval")
    .innerJoin("piece", "piece.question", "question.id")
    .select([...ASKED, ...STANDS, "piece.id as piece", "piece.platform_ids as refs"])
    .where(isOpenQuestion)
    .where("question.expires_at", ">", now)
    .where("question.chat_id", "=", chat)
    .orderBy("piece.id", "desc")
    .execute();
  return rows.map(({ refs, ...row }) => ({
    ...whereItStands(row),
    refs: JSON.parse(refs) as readonly PlatformId[], // as endPiece writes them
  }));
}

const STANDS = ["piece.channel", "piece.to_chat", "piece.to_topic"] as const;

function whereItStands<Row extends Record<"channel" | "to_chat" | "to_topic", string>>({
  channel,
  to_chat: chat,
  to_topic: topic,
  ...row
}: Row): Omit<Row, "channel" | "to_chat" | "to_topic"> & { readonly to: ChatAddress } {
  return { ...row, to: addressOf(channel, chat, topic) };
}

/** Whether the press of a button was taken in before: `press` is its event's id. */
export async function wasPressed(
  trx: Queries,
  { channel, chat, press }: { readonly channel: ChannelId; readonly chat: ChatId; readonly press: string },
): Promise<boolean> {
  const known = await trx
    .selectFrom("inbox")
    .select("id")
    .where("channel", "=", channel)
    .where("chat_id", "=", chat)
    .where("event_key", "=", press)
    .limit(1)
    .executeTakeFirst();
  return known !== undefined;
}

/** Whether it was the first press: the check and the mark are one statement, so that two at once are one answer. */
export async function answerQuestion(
  trx: Queries,
  question: string,
  now: number,
  /** The event that has pressed a button. */
  by = "",
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("question")
    .set({ used_at: now, rendered: "", answer: by })
    .where("id", "=", question)
    .where("used_at", "=", 0)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Forgets questions that could be answered until `before` (epoch ms); gives their number. */
export async function pruneQuestions(trx: Queries, before: number): Promise<number> {
  await trx
    .deleteFrom("choice")
    .where("question", "in", (eb) => eb.selectFrom("question").select("id").where("expires_at", "<", before))
    .execute();
  const { numDeletedRows } = await trx
    .deleteFrom("question")
    .where("expires_at", "<", before)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
