import type { Update } from "grammy/types";
import { type InboundOptions, toEvents } from "../../../channels/telegram/inbound.ts";
import type { InboundEvent, MessageEvent } from "../../../src/core/events.ts";
import { sample, samples } from "./fixtures.ts";

const { bot: me } = samples;

export const CHANNEL = { id: -1002000000003, type: "channel", title: "Tide Bulletins" } as const;
export const GROUP = { id: -1002000000001, type: "supergroup", title: "Lighthouse Keepers" } as const;
export const FORUM = { id: -1002000000002, type: "supergroup", title: "Boatyard", is_forum: true } as const;
export const TOMAS = { id: 700100002, is_bot: false, first_name: "Tomás" } as const;
/** Of somebody else in the group, to be answered. */
export const RIGHT_BEFORE = { message_id: 12, date: 1_788_199_500, chat: GROUP, from: TOMAS } as const;

/** The owner of the business account behind the connection that the samples came by. */
export const OWNER = 700100009;

export const OPTIONS: InboundOptions = {
  channelPosts: true,
  businessOwner: (connection) => (connection === "bc_demo_1" ? String(OWNER) : undefined),
};

export function read(update: Update, options: Partial<InboundOptions> = {}): readonly InboundEvent[] {
  return toEvents(update, me, { ...OPTIONS, ...options });
}

/** An update as Telegram would send it, made up field by field; what is undefined is not there. */
export function updateOf(kind: keyof Update, told: object): Update {
  return JSON.parse(JSON.stringify({ update_id: 1, [kind]: told })) as Update; // what the test says it is
}

/** A message of Mira's in a group, with whatever a test puts into it. */
export function group(
  text: string | undefined,
  fields: Readonly<Record<string, unknown>>,
): MessageEvent | undefined {
  return messageOf({ ...sample("poll").message, poll: undefined, text, ...fields });
}

/** What she says in her private chat. */
export function said(fields: Readonly<Record<string, unknown>>): MessageEvent["content"] | undefined {
  const { message } = sample("text_private");
  return messageOf({ ...message, text: undefined, entities: undefined, ...fields })?.content;
}

export function messageOf(message: object): MessageEvent | undefined {
  const [event] = read(updateOf("message", message));
  return event?.type === "message" ? event : undefined;
}

export function bot(id: number): object {
  return { id, is_bot: true, first_name: "Bot" };
}
