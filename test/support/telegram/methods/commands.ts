import type { BotCommand } from "grammy/types";
import type { Account } from "../account.ts";
import { scopeKey } from "../commands.ts";
import { commits, type Methods } from "../method.ts";
import { badRequest } from "../refusal.ts";
import { string, type Parameters } from "../request.ts";

const MOST = 100; // Bot API setMyCommands
const SCOPES = new Set([
  ..."default all_private_chats all_group_chats all_chat_administrators".split(" "),
  ..."chat chat_administrators chat_member".split(" "),
]);

/** The lists behind the menu button, one for each scope and language. */
export const commandMethods: Methods = {
  setMyCommands(account, call) {
    const key = checkedKey(account, call.parameters);
    const commands = checkedCommands(call.parameters["commands"]);
    return commits(() =>
      commands.length > 0 ? account.commands.set(key, commands) : account.commands.delete(key),
    );
  },

  getMyCommands: (account, call) => ({
    result: account.commands.get(checkedKey(account, call.parameters)) ?? [],
  }),

  deleteMyCommands(account, call) {
    const key = checkedKey(account, call.parameters);
    return commits(() => account.commands.delete(key));
  },
};

function checkedCommands(given: unknown): readonly BotCommand[] {
  if (!Array.isArray(given)) throw badRequest("can't parse commands JSON object");
  if (given.length > MOST) throw badRequest("BOT_COMMANDS_TOO_MUCH");
  const commands = given as readonly BotCommand[]; // each is looked at below
  for (const { command, description } of commands) {
    if (!/^[a-z0-9_]{1,32}$/.test(string(command))) throw badRequest("BOT_COMMAND_INVALID");
    if (!/^.{1,256}$/su.test(string(description))) throw badRequest("BOT_COMMAND_DESCRIPTION_INVALID");
  }
  return commands;
}

function checkedKey(account: Account, parameters: Parameters): string {
  const scope = parameters["scope"] ?? { type: "default" };
  if (typeof scope !== "object" || scope === null) throw badRequest("can't parse BotCommandScope");
  const { type, chat_id, user_id } = scope as Parameters; // an object, checked above
  if (!SCOPES.has(string(type))) throw badRequest("can't parse BotCommandScope: Unsupported type specified");
  const language = string(parameters["language_code"]);
  if (!/^([a-z]{2})?$/.test(language)) throw badRequest("LANG_CODE_INVALID");
  const isOfChat = string(type).startsWith("chat");
  const chatId = isOfChat ? account.find(chat_id).chat.id : undefined;
  if (type === "chat_member" && user_id === undefined) throw badRequest("USER_ID_INVALID");
  return scopeKey(
    { type: string(type), chatId, userId: type === "chat_member" ? Number(user_id) : undefined },
    language,
  );
}
