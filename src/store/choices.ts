import type { Choice } from "../core/channel.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Rendered } from "../core/tree.ts";
import { isCode, randomCode } from "./codes.ts";
import type { ChoiceRow } from "./fact-tables.ts";
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
  readonly choices: readonly NewChoice[];
  readonly expiresAt: number;
};

/** Its key is one of `choiceKey`. Without another meaning, the press says what stands on the button. */
export type NewChoice = Choice & { readonly means?: ChoiceRow["means"] };

/** A new key of a button. It is random, and looked for only in the chat and for the person that it is bound to. */
export function choiceKey(): string {
  return randomCode();
}

export async function insertQuestion(trx: Queries, question: NewQuestion): Promise<void> {
  const { chat, person, subject = "", rendered, choices, expiresAt } = question;
  const id = randomCode();
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
    })
    .execute();
  await trx
    .insertInto("choice")
    .values(choices.map(({ key, label, means = "say" }) => ({ key, question: id, label, means })))
    .execute();
}

/** The button of a key, with its question, which may have been answered. Times are epoch ms. */
export type AskedChoice = {
  readonly question: string;
  readonly chat: ChatId;
  /** "" for everybody who may talk there. */
  readonly person: string;
  readonly subject: string;
  readonly rendered: string;
  readonly label: string;
  readonly means: ChoiceRow["means"];
  readonly expiresAt: number;
};

/** `key` is what a press brought, whoever made it up. */
export async function choiceOf(trx: Queries, key: string): Promise<AskedChoice | undefined> {
  if (!isCode(key)) return undefined;
  return await trx
    .selectFrom("choice")
    .innerJoin("question", "question.id", "choice.question")
    .select([
      "question.id as question",
      "question.chat_id as chat",
      "question.person",
      "question.subject",
      "question.rendered",
      "choice.label",
      "choice.means",
      "question.expires_at as expiresAt",
    ])
    .where("choice.key", "=", key)
    .executeTakeFirst();
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
export async function answerQuestion(trx: Queries, question: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("question")
    .set({ used_at: now, rendered: "" })
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
