import type { ApprovedCall, Answerer } from "../core/approvals.ts";
import type { Place } from "../core/events.ts";
import type { ChatId, ThreadId } from "../core/identity.ts";
import type { ApprovalState } from "./approval-tables.ts";
import { randomCode } from "./codes.ts";
import type { InboxState } from "./fact-tables.ts";
import { goesOnInThread } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** Whoever has to decide about more than so many calls of one thread decides about none. */
const MOST_OPEN = 5;

export type NotedApproval = {
  readonly chat: ChatId;
  readonly thread: ThreadId;
  readonly agent: string;
  readonly message: string;
  readonly call: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly who: Answerer;
  readonly person: string;
  /** What they are called. */
  readonly asker: string;
  readonly place: Place;
  readonly minutes: number;
  readonly now: number;
};

/** Writes down a call that waits; nobody is asked before its turn has ended. */
export async function noteApproval(
  trx: Queries,
  noted: NotedApproval,
): Promise<"noted" | "asked before" | "too many"> {
  const { thread, tool, now } = noted;
  const args = JSON.stringify(noted.args);
  const open = await trx
    .selectFrom("approval")
    .select(["tool", "args"])
    .where("thread", "=", thread)
    .where((eb) =>
      eb.or([
        // Of another message it is of a turn that was cut off, and that nobody is asked for any more.
        eb.and([eb("state", "=", "noted"), eb("message", "=", noted.message)]),
        eb.and([eb("state", "=", "open"), eb("expires_at", ">", now)]),
      ]),
    )
    .execute();
  if (open.some((each) => each.tool === tool && each.args === args)) return "asked before";
  if (open.length >= MOST_OPEN) return "too many";
  await trx
    .insertInto("approval")
    .values({
      id: randomCode(),
      chat_id: noted.chat,
      thread,
      agent: noted.agent,
      message: noted.message,
      call: noted.call,
      tool,
      args,
      who: noted.who,
      person: noted.person,
      asker: noted.asker,
      place: JSON.stringify(noted.place),
      minutes: noted.minutes,
      state: "noted",
      noted_at: now,
    })
    .execute();
  return "noted";
}

/** A call that people are to be asked about. */
export type Wish = ApprovedCall & {
  readonly who: Answerer;
  readonly person: string;
  readonly minutes: number;
};

/** What a turn has put off, in the order of its calls. */
export async function notedBy(
  db: Queries,
  { thread, message }: { readonly thread: ThreadId; readonly message: string },
): Promise<readonly Wish[]> {
  const rows = await db
    .selectFrom("approval")
    .select(["id", "tool", "args", "who", "person", "minutes"])
    .where("thread", "=", thread)
    .where("message", "=", message)
    .where("state", "=", "noted")
    .orderBy("noted_at")
    .orderBy("call")
    .execute();
  return rows.map((row) => ({ ...row, args: argsIn(row.args) }));
}

/** What a turn's end settles beside what it plans. */
export type Settled = {
  /** Approvals that the agent was told of. */
  readonly told?: readonly string[];
  /** The interrupt of a graph that went on with the turn's message. */
  readonly answered?: string;
};

/** In the transaction that ends a turn, before its pieces: a graph may ask again under the same id. */
export async function settleQuestions(
  trx: Queries,
  thread: ThreadId,
  { told = [], answered }: Settled,
  now: number,
): Promise<void> {
  if (told.length > 0) await trx.updateTable("approval").set({ told: 1 }).where("id", "in", told).execute();
  if (answered === undefined) return;
  await trx
    .updateTable("question")
    .set({ used_at: now, rendered: "" })
    .where(goesOnInThread)
    .where("thread", "=", thread)
    .where("interrupt", "=", answered)
    .where("used_at", "=", 0)
    .execute();
}

/** In the transaction that ends a turn, behind its pieces: what it has put off and nobody is asked about comes to nothing. */
export async function withdrawNoted(
  trx: Queries,
  { thread, message }: { readonly thread: ThreadId; readonly message: string },
): Promise<void> {
  await trx
    .updateTable("approval")
    .set({ state: "withdrawn" })
    .where("thread", "=", thread)
    .where("message", "=", message)
    .where("state", "=", "noted")
    .execute();
}

/** Where the call goes on that an approval is about, and whose turn has made it; their id is "" where nobody has asked. */
export type Waiting = {
  readonly chat: ChatId;
  readonly thread: ThreadId;
  readonly agent: string;
  readonly place: Place;
  readonly person: string;
  readonly asker: string;
};

/** Decides once; undefined where it was decided before, or nobody waits for it any more. */
export async function decideApproval(
  trx: Queries,
  id: string,
  as: { readonly state: Exclude<ApprovalState, "noted" | "open">; readonly by: string; readonly now: number },
): Promise<Waiting | undefined> {
  const row = await trx
    .updateTable("approval")
    .set({
      state: as.state,
      answered_at: as.now,
      answered_by: as.by,
    })
    .where("id", "=", id)
    .where("state", "=", "open")
    .returning(["chat_id as chat", "thread", "agent", "place", "person", "asker"])
    .executeTakeFirst();
  return row && { ...row, place: JSON.parse(row.place) as Place }; // as noteApproval writes it
}

/** The intent whose turn makes the call. */
export async function approvalRuns(trx: Queries, id: string, intent: number): Promise<void> {
  await trx.updateTable("approval").set({ intent }).where("id", "=", id).execute();
}

/** What the turn of an intent is to begin with; undefined where it was forgotten. */
export async function approvedFor(
  db: Queries,
  intent: number,
): Promise<(ApprovedCall & { readonly by: string }) | undefined> {
  const row = await db
    .selectFrom("approval")
    .select(["id", "tool", "args", "answered_by as by"])
    .where("intent", "=", intent)
    .executeTakeFirst();
  return row && { ...row, args: argsIn(row.args) };
}

/** A call that has come to something without the agent, which still takes it for one that waits. */
export type Lapsed = {
  readonly id: string;
  readonly tool: string;
  /** "stopped": it was allowed, and taken back before its turn; "cut off": it was allowed, and its turn failed or was stopped. */
  readonly state: "refused" | "expired" | "withdrawn" | "stopped" | "cut off";
  readonly by: string;
};

/** Those that a thread was not told of yet, for the turn of a message. */
export async function lapsedIn(
  db: Queries,
  { thread, message }: { readonly thread: ThreadId; readonly message: string },
): Promise<readonly Lapsed[]> {
  const rows = await db
    .selectFrom("approval")
    .leftJoin("inbox", "inbox.id", "approval.intent")
    .select(["approval.id", "tool", "approval.state", "answered_by as by", "inbox.state as turn"])
    .where("approval.thread", "=", thread)
    .where("told", "=", 0)
    .where((eb) =>
      eb.or([
        eb("approval.state", "in", ["refused", "expired", "withdrawn"]),
        // A pause has cut its turn off, which has another message by now.
        eb.and([eb("approval.state", "=", "noted"), eb("message", "!=", message)]),
        eb("inbox.state", "in", ["withdrawn", "consumed"]),
      ]),
    )
    .orderBy("noted_at")
    .orderBy("call")
    .execute();
  return rows.map(({ state, turn, ...row }) => ({ ...row, state: lapsedAs(state, turn) }));
}

function lapsedAs(state: ApprovalState, turn: InboxState | null): Lapsed["state"] {
  switch (state) {
    case "refused":
    case "expired":
    case "withdrawn":
      return state;
    case "noted":
      return "withdrawn";
    case "open":
    case "approved":
      return turn === "withdrawn" ? "stopped" : "cut off";
  }
}

function argsIn(text: string): ApprovedCall["args"] {
  return JSON.parse(text) as ApprovedCall["args"]; // as noteApproval writes them
}
