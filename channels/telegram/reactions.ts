import type { MessageReactionUpdated, ReactionType } from "grammy/types";
import type { ReactionEvent } from "../../src/core/events.ts";
import { isoOf } from "./dates.ts";
import { senderOf } from "./people.ts";
import { placeOfChat } from "./place.ts";

/** What has changed. Nothing by bots, and nothing where it is the same as before. */
export function reactionIn(told: MessageReactionUpdated): ReactionEvent | undefined {
  const { chat, message_id, user, actor_chat, date } = told;
  const from = senderOf(user, actor_chat);
  const [before, now] = [told.old_reaction.map(nameOf), told.new_reaction.map(nameOf)];
  const added = now.filter((name) => !before.includes(name));
  const removed = before.filter((name) => !now.includes(name));
  if (!from || added.length + removed.length === 0) return undefined;
  const ref = String(message_id);
  return {
    type: "reaction",
    id: `${ref}/reaction/${from.id}/${date}`,
    place: placeOfChat(chat),
    ref,
    from,
    sentAt: isoOf(date),
    added,
    removed,
  };
}

function nameOf(reaction: ReactionType): string {
  switch (reaction.type) {
    case "emoji":
      return reaction.emoji;
    case "custom_emoji":
      return `custom emoji ${reaction.custom_emoji_id}`;
    case "paid":
      return "paid star";
    default:
      return "a reaction that I cannot read"; // of a later Bot API
  }
}
