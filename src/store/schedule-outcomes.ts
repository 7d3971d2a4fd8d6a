import type { Outcome } from "../core/schedules.ts";
import type { PieceState } from "./fact-tables.ts";
import type { ScheduleRow } from "./schedule-tables.ts";
import type { Queries } from "./tables.ts";

/** Why a message was consumed without an answer: its turn had nothing to say. */
export const SAID_NOTHING = "nothing to say";

/** What became of the last time that a schedule was due: what its message, its turn and what was sent of it say now. */
export async function outcomeOf(
  db: Queries,
  { held, last_inbox: last }: Pick<ScheduleRow, "held" | "last_inbox">,
): Promise<Outcome> {
  if (held !== "") return { kind: "held", why: held };
  if (last === 0) return { kind: "none" };
  const message = await db
    .selectFrom("inbox")
    .leftJoin("turn", "turn.id", "inbox.turn_id")
    .select(["inbox.state", "inbox.why", "inbox.turn_id as turn", "turn.state as ended", "turn.error"])
    .where("inbox.id", "=", last)
    .executeTakeFirst();
  if (!message) return { kind: "forgotten" };
  switch (message.state) {
    case "listening":
    case "aside":
    case "waiting":
      return { kind: "waiting" };
    case "claimed":
      return { kind: "running" };
    case "refused":
    case "withdrawn":
    case "dead":
      return { kind: "failed", why: message.why || message.state };
    case "consumed":
      break;
  }
  if (message.why === SAID_NOTHING) return { kind: "silent" };
  if (message.ended === "stopped") return { kind: "stopped" };
  if (message.ended !== "done") return { kind: "failed", why: message.error || "no turn" };
  const pieces = await db
    .selectFrom("piece")
    .select(["state", "error"])
    .where("turn_id", "=", message.turn)
    .execute();
  return sentOf(pieces);
}

function sentOf(pieces: readonly { readonly state: PieceState; readonly error: string }[]): Outcome {
  const count = (...states: readonly PieceState[]): number =>
    pieces.filter(({ state }) => states.includes(state)).length;
  if (pieces.length === 0) return { kind: "failed", why: "there was nothing to send" };
  if (count("planned", "sending", "parked") > 0) return { kind: "waiting" };
  const sent = count("sent");
  if (sent === pieces.length) return { kind: "delivered" };
  if (count("unknown") > 0) return { kind: "unknown" };
  if (sent > 0) return { kind: "partly", sent, of: pieces.length };
  return { kind: "failed", why: pieces.find(({ error }) => error !== "")?.error ?? "it was not sent" };
}
