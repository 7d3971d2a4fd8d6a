import type { User } from "grammy/types";
import { botUser, type Account } from "./account.ts";
import type { ChatState } from "./chats.ts";
import { chatMember, isIn, type BotMembership } from "./membership.ts";

/** Somebody changes what the bot is in a chat, and it is told. Out of a group it can write nothing, in it again it can. */
export function moveBot(account: Account, state: ChatState, by: User, after: BotMembership): void {
  const before = state.bot;
  const user = botUser(account.me);
  state.bot = after;
  if (isIn(after)) delete state.closed;
  else state.closed = outOf(state, after);
  if (isIn(after) && !isIn(before)) state.privacy = account.privacy;
  account.enqueue({
    my_chat_member: {
      chat: state.chat,
      from: by,
      date: account.date(),
      old_chat_member: chatMember(user, before),
      new_chat_member: chatMember(user, after),
    },
  });
}

/** Telegram's words after "Forbidden: ". */
export function outOf({ chat }: ChatState, { status }: BotMembership): string {
  return status === "kicked"
    ? `bot was kicked from the ${chat.type} chat`
    : `bot is not a member of the ${chat.type} chat`;
}
