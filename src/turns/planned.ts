import type { PieceBody } from "../core/channel.ts";
import type { Waits } from "../store/choices.ts";
import type { Database } from "../store/database.ts";
import { answerBefore } from "../store/edits.ts";
import type { NewPiece } from "../store/pieces.ts";
import type { ClaimedTurn } from "../store/turns.ts";

/** What a turn says, as it is planned to be sent. `labels` can be pressed below its last text. */
export function piecesOf(
  turn: ClaimedTurn,
  bodies: readonly PieceBody[],
  { labels, waits }: { readonly labels: readonly string[] | undefined; readonly waits: Waits | undefined },
): readonly NewPiece[] {
  const replyTo = replyRef(turn);
  const asks = labels !== undefined || waits !== undefined;
  const question = asks ? bodies.findLastIndex(({ kind }) => kind === "text") : -1;
  return bodies.map((body, seq) => ({
    chat: turn.hold.chat,
    to: turn.to,
    turn: turn.id,
    seq,
    body,
    ...(seq === 0 && replyTo !== undefined ? { replyTo } : {}),
    ...(seq === question
      ? { choices: { labels: labels ?? [], person: askedBy(turn), ...(waits ? { waits } : {}) } }
      : {}),
  }));
}

/** What the platform calls the messages that a turn has taken up: those of its intent, and those that it is told beside them. */
export function refsOf({ messages, asides }: Pick<ClaimedTurn, "messages" | "asides">): readonly string[] {
  const events = [...asides, ...messages].map(({ event }) => event);
  const refs = events.flatMap((event) => (event.type === "message" && !event.own ? [event.ref] : []));
  return refs.filter((ref) => ref !== ""); // of a chat that has moved
}

/** What answers an edited message anew takes the place of the earlier answer, where both are one text each. */
export async function inPlace(
  database: Database,
  turn: ClaimedTurn,
  pieces: readonly NewPiece[],
): Promise<readonly NewPiece[]> {
  const [piece, ...more] = pieces;
  const [message, ...others] = turn.messages;
  if (piece?.body.kind !== "text" || message?.event.type !== "edited") return pieces;
  if (more.length > 0 || others.length > 0) return pieces;
  const replaces = await answerBefore(database, message.id);
  return replaces === undefined ? pieces : [{ ...piece, replaces }];
}

/**
 * Who may press what is offered: whoever is answered. Who speaks for a whole group presses as a person, and nobody knows as
 * which: there it is everybody who may talk.
 */
function askedBy(turn: ClaimedTurn): string {
  const last = turn.messages.at(-1)?.event;
  const isGroup = last?.place.kind === "group" && last.from.id === last.place.chat;
  return last === undefined || isGroup ? "" : last.from.id;
}

/** In a group an answer names the message it answers; between two people it goes without saying. */
function replyRef(turn: ClaimedTurn): string | undefined {
  const last = turn.messages.at(-1)?.event;
  return last?.place.kind === "group" && last.type !== "scheduled" ? last.ref : undefined;
}
