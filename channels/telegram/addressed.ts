import type { Message, MessageEntity } from "grammy/types";
import { isSame } from "./markdown.ts";
import type { BotIdentity } from "./people.ts";
import { repliedTo } from "./quote.ts";

/**
 * Whether a message is meant for us: always in a private chat, in a channel, whose posts answer nobody, and where we were
 * called as a guest; in a group by mention, reply or command.
 */
export function isAddressed(message: Message, me: BotIdentity): boolean {
  const { chat, guest_query_id: query } = message;
  if (chat.type === "private" || chat.type === "channel" || query !== undefined) return true;
  const words = message.text ?? message.caption ?? "";
  const entities = message.entities ?? message.caption_entities ?? [];
  const named = (entity: MessageEntity): string => words.slice(entity.offset, entity.offset + entity.length);
  const mentions = entities.some(
    (entity) =>
      (entity.type === "text_mention" && entity.user.id === me.id) ||
      (entity.type === "mention" && isOurs(named(entity), me)),
  );
  const command = entities.find((entity) => entity.type === "bot_command" && entity.offset === 0);
  const bot = command === undefined ? undefined : named(command).split("@")[1];
  const forAnother = bot !== undefined && !isSame(bot, me.username);
  if (mentions || (command !== undefined && !forAnother)) return true;
  if (isCalledIn(message.rich_message?.blocks, me)) return true;
  return !forAnother && isReplyToUs(message, me);
}

/** In a forum, a reply across topics shows only where its answered message came from. */
function isReplyToUs(message: Message, me: BotIdentity): boolean {
  if (repliedTo(message)?.from?.id === me.id) return true;
  const { chat, origin } = message.external_reply ?? {};
  return chat?.id === message.chat.id && origin?.type === "user" && origin.sender_user.id === me.id;
}

// 16 levels of blocks with 16 of text in them, each an object in an array in a field.
const DEPTH = 100;

/** Whether a part of a rich message names us: a mention, or a command with our name behind it. */
function isCalledIn(part: unknown, me: BotIdentity, depth = 0): boolean {
  if (typeof part !== "object" || part === null || depth > DEPTH) return false;
  const { type, username, user, bot_command: command } = part as Readonly<Record<string, unknown>>; // RichText, or around it
  switch (type) {
    case "mention":
      return typeof username === "string" && isOurs(username, me);
    case "text_mention":
      return typeof user === "object" && user !== null && "id" in user && user.id === me.id;
    case "bot_command":
      return typeof command === "string" && isSame(command.split("@")[1] ?? "", me.username);
    default:
      return Object.values(part).some((inside) => isCalledIn(inside, me, depth + 1));
  }
}

function isOurs(mention: string, { username }: BotIdentity): boolean {
  return isSame(mention.replace(/^@/, ""), username);
}
