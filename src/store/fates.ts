import type { ChannelId, ChatId } from "../core/identity.ts";
import { BY_HAND, NOT_ADDRESSED } from "./asides.ts";
import type { InboxState, TurnState } from "./fact-tables.ts";
import type { Queries } from "./tables.ts";

/** How far `missedIn` looks back, and how many reasons it gives. */
const MOST_LOOKED_AT = 100;
const MOST_REASONS = 5;

/** Why messages of a chat since `since` (epoch ms) were not answered, or not yet: each reason once, the latest first. */
export async function missedIn(
  trx: Queries,
  chat: ChatId,
  since: number,
): Promise<readonly { readonly why: string; readonly count: number; readonly lastAt: number }[]> {
  const rows = await trx
    .selectFrom("inbox")
    .leftJoin("turn", "turn.id", "inbox.turn_id")
    .select((eb) => [
      "inbox.state",
      "inbox.why",
      "inbox.received_at as at",
      "turn.state as turn",
      "turn.error",
      eb
        .selectFrom("attachment")
        .select((inner) => inner.fn.countAll<number>().as("n"))
        .whereRef("attachment.inbox_id", "=", "inbox.id")
        .where("attachment.state", "=", "waiting")
        .as("files"),
    ])
    .where("inbox.chat_id", "=", chat)
    .where("inbox.type", "=", "message")
    .where("inbox.received_at", ">", since)
    .orderBy("inbox.id", "desc")
    .limit(MOST_LOOKED_AT)
    .execute();
  const reasons = new Map<string, { count: number; readonly lastAt: number }>();
  for (const row of rows) {
    const why = whyMissed(row);
    if (why === undefined) continue;
    const known = reasons.get(why);
    if (known) known.count += 1;
    else reasons.set(why, { count: 1, lastAt: row.at });
  }
  return [...reasons].slice(0, MOST_REASONS).map(([why, counted]) => ({ why, ...counted }));
}

/** Undefined for what was answered, and for what asks for no answer. */
function whyMissed(row: {
  readonly state: InboxState;
  readonly why: string;
  readonly turn: TurnState | null;
  readonly error: string | null;
  readonly files: number | null;
}): string | undefined {
  switch (row.state) {
    case "refused":
    case "withdrawn":
    case "dead":
      return row.why;
    case "listening":
      return "being listened to for a name";
    case "aside":
      if (row.why === BY_HAND) return undefined;
      return row.why === NOT_ADDRESSED || row.why === "" ? "kept for the next turn" : row.why;
    case "waiting":
      return (row.files ?? 0) > 0 ? "waiting for a file" : "waiting for its turn";
    case "claimed":
      return "being answered now";
    case "consumed":
      if (row.turn === "stopped") return "its turn was stopped";
      return row.turn === "failed" ? `its turn failed (${row.error ?? ""})` : undefined;
  }
}

/** Whether the agent was asked something in a chat that is not forgotten yet. */
export async function hadTurn(trx: Queries, channel: ChannelId, chat: ChatId): Promise<boolean> {
  const asked = await trx
    .selectFrom("inbox")
    .select("id")
    .where("channel", "=", channel)
    .where("chat_id", "=", chat)
    .where("intent", ">", 0)
    .limit(1)
    .executeTakeFirst();
  return asked !== undefined;
}

/** The last turn that messages of a chat were in. Times are epoch ms; `endedAt` is 0 while it runs. */
export async function latestTurn(
  trx: Queries,
  chat: ChatId,
): Promise<
  | {
      readonly agent: string;
      readonly state: TurnState;
      readonly error: string;
      readonly startedAt: number;
      readonly endedAt: number;
    }
  | undefined
> {
  return await trx
    .selectFrom("turn")
    .select(["agent", "state", "error", "started_at as startedAt", "ended_at as endedAt"])
    .where("id", "=", (eb) =>
      eb
        .selectFrom("inbox")
        .select((inner) => inner.fn.max("turn_id").as("id"))
        .where("chat_id", "=", chat),
    )
    .executeTakeFirst();
}
