import type { Update } from "grammy/types";
import type { EditEvent, InboundEvent, MessageEvent } from "../../src/core/events.ts";
import { type BusinessOwner, deletionIn, isCustomers, ownerIn } from "./business.ts";
import { membershipIn, moveIn } from "./chats.ts";
import { editIn, messageIn } from "./messages.ts";
import type { BotIdentity } from "./people.ts";
import { type Over, pressIn, stopIn } from "./presses.ts";
import { reactionIn } from "./reactions.ts";

export type InboundOptions = Over & {
  /** Whether posts of channels are taken in. */
  readonly channelPosts: boolean;
  /** What whoever takes updates in remembers of business connections. */
  readonly businessOwner: BusinessOwner;
};

type Reader<Name extends keyof Update> = (
  told: NonNullable<Update[Name]>,
  by: { readonly me: BotIdentity; readonly options: InboundOptions; readonly update: number },
) => InboundEvent | undefined;

const READERS = {
  message: (message, { me }) => moveIn(message) ?? messageIn(message, me),
  edited_message: (message, { me }) => editIn(message, me),
  channel_post: (post, { me, options }) => (options.channelPosts ? messageIn(post, me) : undefined),
  edited_channel_post: (post, { me, options }) => (options.channelPosts ? editIn(post, me) : undefined),
  // Kept by whoever takes updates in, if it can be read.
  business_connection: (told) => void ownerIn(told),
  business_message: (message, { me, options }) =>
    isCustomers(message, options.businessOwner) ? messageIn(message, me) : undefined,
  edited_business_message: (message, { me, options }) =>
    isCustomers(message, options.businessOwner) ? editIn(message, me) : undefined,
  deleted_business_messages: (deleted, { options }) => deletionIn(deleted, options.businessOwner),
  guest_message: (message, { me }) => messageIn(message, me),
  callback_query: (query, { me, options }) => pressIn(query, me, options),
  stopped_message_generation: (stopped, { options, update }) => stopIn(stopped, update, options),
  message_reaction: (told) => reactionIn(told),
  my_chat_member: (told) => membershipIn(told),
} satisfies { readonly [Name in keyof Update]?: Reader<Name> };

/** The updates that are read. Telegram hands over no others, and keeps the list until it is told another. */
export const ALLOWED = Object.keys(READERS) as (keyof typeof READERS)[]; // its own keys

/** What an update says; nothing where it says nothing to us. */
export function toEvents(update: Update, me: BotIdentity, options: InboundOptions): readonly InboundEvent[] {
  return ALLOWED.flatMap((name) => {
    const told = update[name];
    const read = READERS[name] as Reader<never>; // reads what stands under its own name
    return told === undefined ? [] : (read(told as never, { me, options, update: update.update_id }) ?? []);
  });
}

/**
 * What was handed over in one go. An album's caption often stands on one picture alone: the pictures before that one are
 * for us if it is. Those behind it join it in any case, and stay what they are when they are handed over alone: another
 * event would be taken in once more.
 */
export function batchToEvents(
  updates: readonly Update[],
  me: BotIdentity,
  options: InboundOptions,
): readonly InboundEvent[] {
  const events = updates.flatMap((update) => toEvents(update, me, options));
  const addressed = new Set<string>();
  return events
    .toReversed()
    .map((event) => {
      if (!isSaid(event) || event.albumId === undefined) return event;
      const album = JSON.stringify([event.place.chat, event.place.topic, event.from.id, event.albumId]);
      if (event.addressed) addressed.add(album);
      return addressed.has(album) ? { ...event, addressed: true } : event;
    })
    .toReversed();
}

function isSaid(event: InboundEvent): event is MessageEvent | EditEvent {
  return event.type === "message" || event.type === "edited";
}
