import type { Message } from "grammy/types";
import type { Account } from "./account.ts";
import { badRequest } from "./refusal.ts";
import type { Call, Parameters } from "./request.ts";
import type { FormattedText } from "./text.ts";

/** Checks first, and throws a Refusal; what changes anything waits in `commit`. */
export type Answer = { readonly result: unknown } | { readonly commit: () => unknown };
export type Method = (account: Account, call: Call) => Answer;

/** Perch marks text by entities alone; a parser here would have no user. */
export function refuseParseMode(parameters: Parameters): void {
  if (parameters["parse_mode"] !== undefined) throw badRequest("emulator: parse_mode unsupported");
}

export function captionFields(caption: FormattedText | undefined): Partial<Message> {
  if (!caption) return {};
  const { text, entities } = caption;
  return { caption: text, ...(entities.length > 0 && { caption_entities: [...entities] }) };
}

/** For methods whose result is just True. */
export function commits(change: () => unknown): Answer {
  return {
    commit() {
      change();
      return true;
    },
  };
}
