import type { ChatFullInfo, ChatMember, UserFromGetMe } from "grammy/types";
import type { Examination, Finding } from "../../src/core/channel.ts";
import type { Ask } from "./deadline.ts";
import { type Failure, failureOf } from "./failures.ts";

type Chat = Examination["chats"][number];

/** What keeps the bot from doing in one chat what the configuration says. @throws what is no answer about the chat. */
export async function examineChat(
  { chat, when }: Chat,
  me: UserFromGetMe,
  ask: Ask,
): Promise<readonly Finding[]> {
  try {
    const about = await ask((api, signal) => api.getChat({ chat_id: chat }, signal));
    if (about.type === "private") return [];
    const member = { chat_id: chat, user_id: me.id };
    const we = await ask((api, signal) => api.getChatMember(member, signal));
    const faults = standingFaults(chat, we, about);
    const sees = me.can_read_all_group_messages || we.status === "administrator" || we.status === "creator";
    return when === "all" && !sees && about.type !== "channel" ? [...faults, privacyFault(chat)] : faults;
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (failure.kind !== "refused" || (failure.code !== 400 && failure.code !== 403)) throw thrown;
    return [unknownChat(chat, failure)];
  }
}

function standingFaults(chat: string, we: ChatMember, about: ChatFullInfo): readonly Finding[] {
  if (we.status === "left" || we.status === "kicked" || (we.status === "restricted" && !we.is_member))
    return [{ kind: "fault", text: `it is not in chat ${chat}`, remedy: "add the bot to the chat" }];
  const missing = missingRights(we, about);
  if (missing.length === 0) return [];
  return [
    {
      kind: "fault",
      text: `in chat ${chat} it may not send ${missing.join(", ")}`,
      remedy: "allow it in the permissions of the chat, or make the bot an administrator that may",
    },
  ];
}

const SENDABLE = [
  ["can_send_messages", "messages"],
  ["can_send_photos", "photos"],
  ["can_send_videos", "videos"],
  ["can_send_audios", "music"],
  ["can_send_voice_notes", "voice notes"],
  ["can_send_documents", "files"],
] as const;

function missingRights(we: ChatMember, about: ChatFullInfo): readonly string[] {
  if (we.status === "administrator")
    return about.type === "channel" && !we.can_post_messages ? ["messages"] : [];
  const rights = we.status === "restricted" ? we : we.status === "member" ? about.permissions : undefined;
  if (!rights) return [];
  const missing = SENDABLE.flatMap(([right, what]) => (rights[right] === false ? [what] : []));
  return missing.includes("messages") ? ["messages"] : missing;
}

function privacyFault(chat: string): Finding {
  return {
    kind: "fault",
    text: `in chat ${chat} it needs all messages, and Telegram shows it only what is meant for it (privacy mode)`,
    remedy:
      "send /setprivacy to @BotFather and choose Disable, then remove the bot from the chat and add it again; or make it " +
      "an administrator there",
  };
}

function unknownChat(
  chat: string,
  { code, description, movedTo }: Extract<Failure, { kind: "refused" }>,
): Finding {
  if (movedTo !== undefined)
    return {
      kind: "fault",
      text: `chat ${chat} has become the supergroup ${movedTo}`,
      remedy: `write "${movedTo}" in its place under chats`,
    };
  return {
    kind: "fault",
    text: `Telegram says of chat ${chat}: ${description} (${code})`,
    remedy: chat.startsWith("-")
      ? "see that the id is right, and add the bot to the chat"
      : "see that the id is right, and have the person press Start in the chat with the bot",
  };
}
