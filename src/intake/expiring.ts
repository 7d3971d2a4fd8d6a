import type { Clock } from "../core/clock.ts";
import type { ChatId } from "../core/identity.ts";
import { join } from "../core/rendered.ts";
import { say } from "../core/sentences.ts";
import { decideApproval } from "../store/approvals.ts";
import { languageOfChat } from "../store/chats.ts";
import { answerQuestion } from "../store/choices.ts";
import type { Database } from "../store/database.ts";
import { dropUnsent, type Overdue, overdueQuestions } from "../store/open-questions.ts";
import { insertPieces } from "../store/pieces.ts";
import type { Words } from "./about.ts";

/** One after the other; the next time over finds the rest. */
const MOST_AT_ONCE = 100;

/** Ends questions whose time is over, and shows that where they stand; whoever answers at the same time may be first. */
export async function expireQuestions(parts: {
  readonly database: Database;
  readonly clock: Clock;
  readonly words: Words;
  readonly deliver: (chat: ChatId) => void;
}): Promise<void> {
  const { database, clock, words, deliver } = parts;
  for (const overdue of await overdueQuestions(database.db, clock.now(), MOST_AT_ONCE)) {
    const shown = await database.db.transaction().execute(async (trx) => {
      const now = clock.now();
      if (!(await answerQuestion(trx, overdue.question, now))) return false;
      if (overdue.approval !== "")
        await decideApproval(trx, overdue.approval, { state: "expired", by: "", now });
      await dropUnsent(trx, overdue.question, now);
      const piece = outcome(overdue, words, say("choice.expired", await languageOfChat(trx, overdue.chat)));
      if (piece) await insertPieces(trx, [piece], now);
      return piece !== undefined;
    });
    if (shown) deliver(overdue.chat);
  }
}

function outcome({ rendered, chat, to, refs }: Overdue, words: Words, sentence: string) {
  const [replaces] = refs;
  if (!to || replaces === undefined) return undefined;
  const [said] = words(to.channel, `— ${sentence}`);
  if (said?.kind !== "text") return undefined;
  const body = { kind: "text", rendered: join([rendered, said.rendered], " ") } as const;
  return { chat, to, turn: 0, seq: 0, body, replaces };
}
