import type { User } from "grammy/types";

export type Person = {
  readonly id: number;
  readonly firstName: string;
  readonly lastName?: string;
  readonly username?: string;
  readonly languageCode?: string;
};

export function userOf(person: Person): User {
  return {
    id: person.id,
    is_bot: false,
    first_name: person.firstName,
    ...(person.lastName !== undefined && { last_name: person.lastName }),
    ...(person.username !== undefined && { username: person.username }),
    ...(person.languageCode !== undefined && { language_code: person.languageCode }),
  };
}

/** Accounts of Telegram's own that stand for senders without one: Bot API Message.from. */
export const ANONYMOUS_ADMIN: User = {
  id: 1_087_968_824,
  is_bot: true,
  first_name: "Group",
  username: "GroupAnonymousBot",
};
export const CHANNEL_BOT: User = {
  id: 136_817_688,
  is_bot: true,
  first_name: "Channel",
  username: "Channel_Bot",
};
export const SERVICE: User = { id: 777_000, is_bot: false, first_name: "Telegram" };
