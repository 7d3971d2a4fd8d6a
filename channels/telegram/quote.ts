import type { Message } from "grammy/types";
import type { Quote } from "../../src/core/events.ts";
import { inWords, mediaOf, type Said } from "./content.ts";
import { toMarkdown } from "./markdown.ts";
import { chatName, originName, userName } from "./people.ts";

/** What it answers. In a topic every message "answers" the one that made the topic, which says nothing. */
export function repliedTo(message: Message): Message["reply_to_message"] {
  const replied = message.reply_to_message;
  return replied?.forum_topic_created ? undefined : replied;
}

/** What a message answers, with its media. The part that the person has picked is preferred to the whole. */
export function quoteOf(message: Message): Quote | undefined {
  const { external_reply: external, reply_to_story: story } = message;
  const replied = repliedTo(message);
  const picked = pickedOf(message);
  if (replied) {
    const text = picked ?? inWords(replied);
    if (text === "") return undefined; // a service message
    const from = replied.sender_chat ? chatName(replied.sender_chat) : replied.from && userName(replied.from);
    return {
      text,
      ...(from === undefined ? {} : { from }),
      ref: String(replied.message_id),
      ...withMedia(replied),
    };
  }
  if (external) {
    const { origin, ...said } = external;
    const text = picked ?? inWords(said);
    return {
      text: text === "" ? "[a message of another chat]" : text,
      from: originName(origin),
      ...withMedia(said),
    };
  }
  if (story) return { text: "[story]", from: chatName(story.chat) };
  return undefined;
}

/** A part of the text, one answer of a poll or one line of a checklist. */
function pickedOf(message: Message): string | undefined {
  const { quote, reply_to_message: replied } = message;
  if (quote) return toMarkdown(quote.text, quote.entities);
  const option = replied?.poll?.options.find((one) => one.persistent_id === message.reply_to_poll_option_id);
  const task = replied?.checklist?.tasks.find((one) => one.id === message.reply_to_checklist_task_id);
  return option?.text ?? task?.text;
}

function withMedia(message: Said): Pick<Quote, "media"> {
  const media = mediaOf(message);
  return media.length === 0 ? {} : { media };
}
