import type { DeleteEvent } from "../core/events.ts";
import type { ChatId } from "../core/identity.ts";
import { chatOf, currentThread } from "../store/chats.ts";
import { isNewestTurn, type KeptRow, rowsOf, withdrawRows } from "../store/edits.ts";
import { unsay } from "../store/unsaid.ts";
import { rulesFor, type Told } from "./about.ts";
import { earlierOf, pendingIn } from "./earlier.ts";
import { keepAside } from "./keep.ts";
import { record } from "./record.ts";

/** Messages were taken back; whether who did it might is the platform's business. Each is a row of its own. */
export async function takeDeletion(told: Told<DeleteEvent>): Promise<void> {
  const { trx, channel, event } = told;
  const chat = await chatOf(trx, channel, event.place);
  for (const ref of event.refs) await takeOne({ ...told, event: { ...event, refs: [ref] } }, chat, ref);
}

/** What nobody has been told of is withdrawn; of the rest the agent is told that it was taken back. */
async function takeOne(told: Told<DeleteEvent>, chat: ChatId, ref: string): Promise<void> {
  const { trx, now } = told;
  const rows = await rowsOf(trx, chat, ref);
  const earlier = earlierOf(rows);
  if (earlier.is !== "untold") await unsay(trx, chat, rows, { as: "taken back" });
  const why = "taken back";
  if (earlier.is === "over") return await refuse(told, chat, earlier.why);
  const { row } = earlier;
  const pending = pendingIn(rows);
  switch (earlier.is) {
    case "untold":
      if (!(await record(told, { chat, sender: "", why: "", trace: { step: why, of: row.id } }))) return;
      await withdrawRows(trx, [...pending, row.id], { why, now });
      return wakeOthers(told, chat, row);
    case "overheard":
      if (row.turn === 0) return await refuse(told, chat, row.why);
      return await tell(told, { chat, ref, row, newest: false });
    case "running":
    case "answered": {
      if (row.thread !== (await currentThread(trx, chat, row.agent)))
        return await refuse(told, chat, "its thread was ended");
      const running = earlier.is === "running";
      const newest = running || (await isNewestTurn(trx, chat, row.turn));
      await withdrawRows(trx, pending, { why, now });
      return await tell(told, { chat, ref, row, newest, running });
    }
  }
}

/** The rest of its intent may have waited for its media alone. */
function wakeOthers(
  { now, after, effects }: Told<DeleteEvent>,
  chat: ChatId,
  { intent, agent }: KeptRow,
): void {
  if (intent > 0) after.push(() => effects.turn(chat, now, agent));
}

async function tell(
  told: Told<DeleteEvent>,
  of: {
    readonly chat: ChatId;
    readonly ref: string;
    readonly row: KeptRow;
    readonly newest: boolean;
    readonly running?: boolean;
  },
): Promise<void> {
  const { event, after, effects } = told;
  const { chat, ref, row, newest } = of;
  const { agent, thread, sender, receivedAt } = row;
  const known = { ...event, known: { newest, at: receivedAt, by: sender } };
  const kept = { chat, agent, thread, sender, ref, about: row.id, contentHash: "" };
  const id = await keepAside(told, known, kept);
  if (id === undefined) return;
  if (of.running && rulesFor(told)?.edits.running === "steer")
    after.push(() => effects.correct(chat, { id, about: row.id, event: known }));
}

async function refuse(told: Told<DeleteEvent>, chat: ChatId, why: string): Promise<void> {
  await record(told, { chat, sender: "", why, trace: { step: "refused", why } });
}
