import type { BotCommand, Chat } from "grammy/types";
import type { Account } from "./account.ts";

type Scope = {
  readonly type: string;
  readonly chatId?: number | undefined;
  readonly userId?: number | undefined;
};

export function scopeKey({ type, chatId, userId }: Scope, language: string): string {
  return [type, chatId, userId, language].join("/");
}

/** What a person's client offers behind "/": of the scopes that fit the narrowest that has a list, in their language first. */
export function commandsShown(
  account: Account,
  chat: Chat,
  userId: number,
  language: string,
): readonly BotCommand[] {
  const chatId = chat.id;
  const wide = chat.type === "private" ? "all_private_chats" : "all_group_chats";
  // Bot API "Determining list of commands", for who administers nothing.
  const scopes: readonly Scope[] = [
    { type: "chat_member", chatId, userId },
    { type: "chat", chatId },
    { type: wide },
    { type: "default" },
  ];
  for (const scope of scopes) {
    for (const code of [language, ""]) {
      const commands = account.commands.get(scopeKey(scope, code));
      if (commands) return commands;
    }
  }
  return [];
}
