import type { ChatMember, User } from "grammy/types";

// Bot API ChatMemberAdministrator, those that may be given to a bot.
const ADMIN_RIGHTS = [
  "can_manage_chat",
  "can_delete_messages",
  "can_manage_video_chats",
  "can_restrict_members",
  "can_promote_members",
  "can_change_info",
  "can_invite_users",
  "can_post_stories",
  "can_edit_stories",
  "can_delete_stories",
  "can_post_messages",
  "can_edit_messages",
  "can_pin_messages",
  "can_manage_topics",
  "can_manage_direct_messages",
  "can_send_welcome_messages",
] as const;

export type AdminRight = (typeof ADMIN_RIGHTS)[number];

// What a restricted bot may still send, Bot API ChatMemberRestricted, in the words of TDLib's refusals.
const SENDABLE = {
  can_send_messages: "text messages",
  can_send_audios: "audios",
  can_send_documents: "documents",
  can_send_photos: "photos",
  can_send_videos: "videos",
  can_send_video_notes: "video notes",
  can_send_voice_notes: "voice notes",
  can_send_polls: "polls",
  can_send_other_messages: "stickers",
} as const;

export type Permission = keyof typeof SENDABLE;

/** What the bot is in a chat. */
export type BotMembership =
  | { readonly status: "member" }
  | { readonly status: "administrator"; readonly rights: readonly AdminRight[] }
  | { readonly status: "restricted"; readonly allowed: readonly Permission[] }
  | { readonly status: "left" }
  | { readonly status: "kicked" };

export function isIn(membership: BotMembership): boolean {
  return membership.status !== "left" && membership.status !== "kicked";
}

export function hasRight(membership: BotMembership, right: AdminRight): boolean {
  return membership.status === "administrator" && membership.rights.includes(right);
}

/** Undefined, or the kind of message that the bot may not send here. */
export function forbidden(membership: BotMembership, permission: Permission): string | undefined {
  if (membership.status !== "restricted" || membership.allowed.includes(permission)) return undefined;
  return SENDABLE[permission];
}

/** As getChatMember and my_chat_member show it. */
export function chatMember(user: User, membership: BotMembership): ChatMember {
  switch (membership.status) {
    case "member":
    case "left":
      return { status: membership.status, user };
    case "kicked":
      return { status: "kicked", user, until_date: 0 };
    case "restricted":
      return restricted(user, membership.allowed);
    case "administrator":
      return administrator(user, membership.rights);
  }
}

function administrator(user: User, rights: readonly AdminRight[]): ChatMember {
  // One key for each name of the list above, which the type of fromEntries forgets.
  const given = flags(ADMIN_RIGHTS, rights) as Record<AdminRight, boolean>;
  return { status: "administrator", user, can_be_edited: false, is_anonymous: false, ...given };
}

function restricted(user: User, allowed: readonly Permission[]): ChatMember {
  const given = flags(Object.keys(SENDABLE), allowed) as Record<Permission, boolean>; // as above
  return {
    status: "restricted",
    user,
    is_member: true,
    ...given,
    can_add_web_page_previews: false,
    can_react_to_messages: true,
    can_change_info: false,
    can_invite_users: false,
    can_edit_tag: false,
    can_pin_messages: false,
    can_manage_topics: false,
    until_date: 0,
  };
}

function flags(names: readonly string[], given: readonly string[]): Record<string, boolean> {
  return Object.fromEntries(names.map((name) => [name, given.includes(name)]));
}

/** Why the bot may not write: Telegram's words after "Forbidden: ". */
export const CLOSED = {
  blocked: "bot was blocked by the user",
  deactivated: "user is deactivated",
  kickedFromGroup: "bot was kicked from the group chat",
  kickedFromSupergroup: "bot was kicked from the supergroup chat",
  notMember: "bot is not a member of the supergroup chat",
  deleted: "the group chat was deleted",
} as const;
