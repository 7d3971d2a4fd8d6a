import { GatewayError } from "../../src/core/errors.ts";
import { stepDown } from "../../src/core/forms.ts";
import type { Failure } from "./failures.ts";
import type { Form, Forms } from "./forms.ts";

type Refused = Extract<Failure, { kind: "refused" }>;

/** What a send that failed means: which of the gateway's ways to go on is right. An error without a code is unknown. */
export function sendError(failure: Failure, forms: Forms, isRich = false): Error {
  switch (failure.kind) {
    case "not written":
      return new GatewayError("send.not_written", failure.why);
    case "no file":
      return new GatewayError("send.refused", `nothing was sent: ${failure.why}`);
    case "unknown":
      // The edge in front of the Bot API turns too large a body away before the Bot API sees it.
      if (failure.status === 413)
        return new GatewayError(
          "send.refused",
          "the server takes no upload of this size; send a smaller file",
        );
      return new Error(failure.why);
    case "refused":
      return refusalError(failure, forms, isRich);
  }
}

/** The message stands there as it was to become. */
export function isUnchanged(failure: Failure): boolean {
  return isRefused(failure, /message is not modified/i);
}

/** There is nothing in the text that could be seen. */
export function isEmpty(failure: Failure): boolean {
  return isRefused(failure, /text must be non-empty|message text is empty/i);
}

/** No message of ours that says something of this kind stands under that id. */
export function isNotOurs(failure: Failure): boolean {
  return isRefused(failure, NOT_OURS);
}

const NOT_OURS =
  /message to edit not found|message can't be edited|MESSAGE_ID_INVALID|no (?:text|caption) in the message/i;

function isRefused(failure: Failure, by: RegExp): boolean {
  return failure.kind === "refused" && failure.code === 400 && by.test(failure.description);
}

/** What may go through in the place of what was refused; the first that fits. */
const STEPS: readonly (readonly [RegExp, Form])[] = [
  [NOT_OURS, "new"],
  [/message to be replied not found|replied message|REPLY_MESSAGE_ID_INVALID|QUOTE_TEXT_INVALID/i, "alone"],
  [/BUTTON_|reply markup|inline keyboard/i, "bare"],
  [/PHOTO_|VIDEO_|MEDIA_INVALID|IMAGE_PROCESS_FAILED|too big for a photo|type in the album/i, "document"],
  [/VOICE_MESSAGES_FORBIDDEN|not enough rights to send|CHAT_SEND_\w+_FORBIDDEN/i, "document"],
  [/entit(?:y|ies)|ENTITY_|ENTITIES_/i, "plain"],
];

/** The bot may not write there at all: what is to be sent waits until it is let in again. */
const CLOSED =
  /chat not found|user is deactivated|bot was (?:blocked|kicked)|rights to send (?:a |text )?messages?|CHAT_SEND_PLAIN_FORBIDDEN|CHAT_WRITE_FORBIDDEN|CHAT_RESTRICTED|need administrator rights|business connection|BUSINESS_|BOT_ACCESS_FORBIDDEN/i;

/** What the log says besides Telegram's own words. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/thread not found|TOPIC_DELETED/i, "the topic is gone, and it was not sent to another"],
  [
    /TOPIC_CLOSED/i,
    "the topic is closed, and it was not sent to another; reopen it, or let the bot manage topics",
  ],
  [/(?:message|caption|text) is too long/i, "it is longer than Telegram takes"],
  [/query is too old|query ID is invalid/i, "the guest's question was answered already, or is too old"],
];

function refusalError(failure: Refused, forms: Forms, isRich: boolean): GatewayError {
  const { code, description, retryAfterMs } = failure;
  const reason = REASONS.find(([pattern]) => pattern.test(description))?.[1];
  const words = `Telegram refused to send this (${code}): ${description}${reason === undefined ? "" : `; ${reason}`}`;
  if (code === 429)
    return new GatewayError(
      "send.rate_limited",
      `Telegram asks to wait ${retryAfterMs === undefined ? "a while" : `${retryAfterMs / 1000} s`}`,
      retryAfterMs === undefined ? {} : { retryAfterMs },
    );
  // The token is no more, which says nothing against the message: it waits until the operator has set another.
  if (code === 401 || code === 404) return new GatewayError("send.not_written", words);
  if (code === 403 || CLOSED.test(description)) return new GatewayError("send.chat_closed", words);
  const next = reason === undefined ? nextForm(description, isRich) : undefined;
  const form = next === undefined ? undefined : stepDown(forms, next);
  return new GatewayError("send.refused", words, form === undefined ? {} : { stepDown: form });
}

/** Telegram has many words against rich messages, and no others say what to do about it. */
function nextForm(description: string, isRich: boolean): Form | undefined {
  const form = STEPS.find(([pattern]) => pattern.test(description))?.[1];
  return isRich && form !== "new" && form !== "alone" && form !== "bare" ? "entities" : form;
}
