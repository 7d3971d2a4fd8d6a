import type { Account } from "../account.ts";
import type { Method, Methods } from "../method.ts";
import { botMethods } from "./bot.ts";
import { chatMethods } from "./chats.ts";
import { commandMethods } from "./commands.ts";
import { copyMethods } from "./copies.ts";
import { draftMethods } from "./drafts.ts";
import { editMethods } from "./edits.ts";
import { mediaMethods } from "./media.ts";
import { messageMethods } from "./messages.ts";
import { queryMethods } from "./queries.ts";

/** By the name in the docs. getUpdates is not here: it waits. */
const METHODS: Methods = {
  ...botMethods,
  ...chatMethods,
  ...commandMethods,
  ...copyMethods,
  ...draftMethods,
  ...editMethods,
  ...mediaMethods,
  ...messageMethods,
  ...queryMethods,
};

const NAMES = new Map([...Object.keys(METHODS), "getUpdates"].map((name) => [name.toLowerCase(), name]));

/** The name as the docs write it, whatever case it came in; undefined where this server has no such method. */
export function methodName(given: string, { lacks }: Account): string | undefined {
  const name = NAMES.get(given.toLowerCase());
  if (name !== undefined && lacks.has("rich") && name.startsWith("sendRich")) return undefined;
  if (name?.endsWith("Draft") && lacks.has("drafts")) return undefined;
  return name;
}

/** Of any but getUpdates. */
export function methodNamed(name: string): Method {
  const method = METHODS[name];
  if (!method) throw new Error(`the emulator has no method ${name}`);
  return method;
}
