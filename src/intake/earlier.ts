import { NOT_ADDRESSED } from "../store/asides.ts";
import type { KeptRow } from "../store/edits.ts";

/** How far a message has come that is edited or taken back. */
export type Earlier =
  /** Nobody has been told of it yet: it waits for its turn, is listened to, or is kept for a turn of something else. */
  | { readonly is: "untold"; readonly row: KeptRow }
  /** A turn has begun with it, and has not ended yet. */
  | { readonly is: "running"; readonly row: KeptRow }
  | { readonly is: "answered"; readonly row: KeptRow }
  /** It was not for the agent, which may have been told of it all the same. */
  | { readonly is: "overheard"; readonly row: KeptRow }
  | { readonly is: "over"; readonly why: string };

/** Pure; `rows` are all that is known of the message, the newest first. */
export function earlierOf(rows: readonly KeptRow[]): Earlier {
  if (rows.some(({ type }) => type === "deleted")) return over("its message was taken back");
  const waiting = pendingIn(rows);
  const row = rows.find((each) => isMessage(each) && !waiting.includes(each.id));
  if (!row) return over("its message is not known here");
  switch (row.state) {
    case "listening":
    case "aside":
      return { is: "untold", row };
    case "waiting":
      return { is: row.turn === 0 ? "untold" : "running", row };
    case "claimed":
      // What is told with a turn of something else ends with that turn.
      return { is: row.intent > 0 ? "running" : "overheard", row };
    case "refused":
      return row.why === NOT_ADDRESSED ? { is: "overheard", row } : over("its message was not taken");
    case "consumed":
      if (row.intent > 0)
        return row.ended === "stopped" ? over("its turn was stopped") : { is: "answered", row };
      return row.turn > 0 ? { is: "overheard", row } : over("its message was a command");
    case "withdrawn":
      return over(`its message was withdrawn: ${row.why}`);
    case "dead":
      return over("its message is set aside");
  }
}

/** Edits of it that nobody has been told of yet: a further one takes their place. */
export function pendingIn(rows: readonly KeptRow[]): readonly number[] {
  return rows
    .filter(
      ({ type, state, turn }) =>
        type === "edited" && (state === "aside" || (state === "waiting" && turn === 0)),
    )
    .map(({ id }) => id);
}

/** The message itself, or an edit of it that was answered like one. */
function isMessage({ type, state, intent }: KeptRow): boolean {
  return type === "message" || (type === "edited" && intent > 0 && state !== "withdrawn");
}

function over(why: string): Earlier {
  return { is: "over", why };
}
