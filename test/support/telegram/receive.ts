import type { Message, MessageEntity, UserFromGetMe } from "grammy/types";
import type { ChatState } from "./chats.ts";
import { isIn } from "./membership.ts";

// What people say; all else is a service message, which every bot in the chat gets.
const CONTENT: readonly (keyof Message)[] = [
  ...(["text", "rich_message", "photo", "document", "audio", "voice", "video", "video_note"] as const),
  ...(["animation", "sticker", "live_photo", "paid_media", "location", "venue", "contact", "poll"] as const),
  ...(["dice", "story", "checklist", "game"] as const),
];

/** Whether Telegram hands a message to the bot. */
export function receives(me: UserFromGetMe, state: ChatState, message: Message): boolean {
  const { chat, bot } = state;
  if (chat.type === "private") return true;
  if (!isIn(bot)) return false;
  if (bot.status === "administrator") return true;
  if (chat.type === "channel") return false; // bots are in channels as administrators only
  return state.privacy === "off" || isMeantFor(me, message, state.privacy === "mentions");
}

function isMeantFor(me: UserFromGetMe, message: Message, mentionsCount: boolean): boolean {
  if (!CONTENT.some((name) => message[name] !== undefined)) return true;
  if (message.reply_to_message?.from?.id === me.id || message.via_bot?.id === me.id) return true;
  const text = message.text ?? message.caption ?? "";
  const entities = message.entities ?? message.caption_entities ?? [];
  return entities.some(
    (entity) => isCommandFor(me, text, entity) || (mentionsCount && isMentionOf(me, text, entity)),
  );
}

function isCommandFor(me: UserFromGetMe, text: string, entity: MessageEntity): boolean {
  if (entity.type !== "bot_command") return false;
  const [, name] = covered(text, entity).split("@");
  return name === undefined || name === me.username.toLowerCase();
}

function isMentionOf(me: UserFromGetMe, text: string, entity: MessageEntity): boolean {
  if (entity.type === "text_mention") return entity.user.id === me.id;
  return entity.type === "mention" && covered(text, entity) === `@${me.username.toLowerCase()}`;
}

function covered(text: string, { offset, length }: MessageEntity): string {
  return text.slice(offset, offset + length).toLowerCase();
}
