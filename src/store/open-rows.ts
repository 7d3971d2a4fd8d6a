import { sql } from "kysely";

// The conditions of the partial indexes, word for word. SQLite takes such an index only for a query that repeats its
// condition with the values written out; bound ones it does not look at, and reads all that was ever said.
export const isOpenMessage = sql<boolean>`state in ('waiting', 'claimed')`;
export const isAside = sql<boolean>`state = 'aside'`;
export const isOpenPiece = sql<boolean>`state in ('planned', 'sending', 'parked')`;
export const isOpenAttachment = sql<boolean>`state = 'waiting'`;
export const isPieceInDoubt = sql<boolean>`state = 'unknown' and body != ''`;
export const isOpenTask = sql<boolean>`told = 0`;
export const isOpenQuestion = sql<boolean>`used_at = 0`;
export const goesOnInThread = sql<boolean>`question.thread != ''`;
export const asksQuestion = sql<boolean>`piece.question != ''`;
export const isActiveSchedule = sql<boolean>`state = 'active'`;
