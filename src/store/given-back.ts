import type { EditEvent, MessageEvent } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import { replaceAttachments } from "./attachments.ts";
import { followingOf, rewrite, withdrawRows } from "./edits.ts";
import type { Queries } from "./tables.ts";

/** A message that a turn had taken up and has given back, as if nobody had been told of it. */
export type GivenBack = {
  readonly id: number;
  readonly chat_id: ChatId;
  readonly channel: ChannelId;
  readonly payload: string;
  readonly due_at: number;
};

/**
 * Messages that were given back say what they were edited to meanwhile, and those that were taken back are withdrawn: what
 * answers them would not be told of it before its end. Media that an edit has brought are found by whoever goes over the facts.
 */
export async function catchUp(trx: Queries, messages: readonly GivenBack[], now: number): Promise<void> {
  const [first] = messages;
  if (!first) return;
  const chat = first.chat_id;
  const ids = messages.map(({ id }) => id);
  const following = await followingOf(trx, chat, ids);
  for (const message of messages) {
    const own = following.filter(({ about }) => about === message.id);
    const edits = own.filter(({ type }) => type === "edited");
    if (own.length > edits.length) await withdrawRows(trx, [message.id], { why: "taken back", now });
    else if (edits.length > 0) await replace(trx, message, edits.at(-1)!, now); // there is a last one
    await withdrawRows(
      trx,
      own.map(({ id }) => id),
      { why: "its message was given back", now },
    );
  }
}

async function replace(
  trx: Queries,
  { id, chat_id: chat, channel, payload, due_at: dueAt }: GivenBack,
  edit: { readonly payload: string; readonly content_hash: string },
  now: number,
): Promise<void> {
  const message = JSON.parse(payload) as MessageEvent; // as intake writes what is said
  const { content } = JSON.parse(edit.payload) as EditEvent; // and what it is edited to
  const says = { payload: JSON.stringify({ ...message, content }), contentHash: edit.content_hash };
  await rewrite(trx, id, { ...says, dueAt, now });
  await replaceAttachments(trx, id, { chat, channel, before: message.content, after: content });
}
