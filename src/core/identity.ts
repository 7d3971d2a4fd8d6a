declare const brand: unique symbol;
type Brand<Name extends string> = { readonly [brand]: Name };

/** The number of a chat. Folders, threads and logs use it; it is never a phone number or a platform's id. */
export type ChatId = number & Brand<"ChatId">;

/** The operator's own name of a connection: the key under `channels:` in perch.yaml. */
export type ChannelId = string;

/** Where a platform finds a chat. Several addresses may point to one ChatId (before and after a migration). */
export type ChatAddress = {
  readonly channel: ChannelId;
  readonly chat: string;
  readonly topic?: string;
};

/** `${ChatId}/${agent}/${n}`; `/new` raises n, so that the old thread is kept. */
export type ThreadId = string;

/**
 * The right to write for a chat: who holds it, and the count of holders before.
 * Every commit of a turn checks it in its own transaction, so that a stalled holder cannot write.
 */
export type Hold = { readonly chat: ChatId; readonly owner: string; readonly epoch: number };

/** All ids by which a person is known; the one that stays comes first. */
export function idsOf(person: { readonly id: string; readonly also?: readonly string[] }): readonly string[] {
  return [person.id, ...(person.also ?? [])];
}

export function threadId(chat: ChatId, agent: string, n: number): ThreadId {
  return `${chat}/${agent}/${n}`;
}

/** What a thread knows a turn's message by, however often the turn is run. */
export function messageIdOf(intent: number): string {
  return `${INTENT}${intent}`;
}

/** The intent that a thread knows by this. */
export function intentOf(messageId: string): number {
  return Number(messageId.slice(INTENT.length));
}

const INTENT = "intent-";
