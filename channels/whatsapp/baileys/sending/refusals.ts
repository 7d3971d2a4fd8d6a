import { GatewayError } from "../../../../src/core/errors.ts";
import { stepDown } from "../../../../src/core/forms.ts";
import type { Form, Forms } from "./forms.ts";

/** What may help against a refusal, once for each message: the devices, the group or the address were out of date. */
export type Remedy = "devices" | "group" | "address";

/** Where and in what form a message was refused. */
type RefusedMessage = {
  readonly kind: "text" | "media";
  readonly isGroup: boolean;
  /** Whether it answers a message or names people. */
  readonly hasContext: boolean;
  readonly forms: Forms;
};

/** The sender is restricted, or WhatsApp has no sign that this person wants to hear from us. */
export const RESTRICTED = 463;
const MALFORMED = 400;
const STALE_DEVICES = 479; // WhatsApp Web: smax-invalid
const STALE_GROUP = 421;
export const TOO_FAST = 429;
const CLOSED_GROUP: ReadonlySet<number> = new Set([401, 403, 404, 405]);

/** @param code what stands in the acknowledgement as its error. */
export function remedyFor(code: number, tried: ReadonlySet<Remedy>): Remedy | undefined {
  const remedy = REMEDIES[code];
  return remedy === undefined || tried.has(remedy) ? undefined : remedy;
}

const REMEDIES: Readonly<Record<number, Remedy>> = {
  [RESTRICTED]: "address",
  [STALE_DEVICES]: "devices",
  [STALE_GROUP]: "group",
};

/** Which way to go on is right where nothing helps. @param waitMs how long to wait where we were too fast. */
export function refusal(code: number, message: RefusedMessage, waitMs: number): GatewayError {
  if (code === TOO_FAST)
    return new GatewayError(
      "send.rate_limited",
      `WhatsApp refused a message as too many; it waits ${waitMs / 1000} s`,
      {
        retryAfterMs: waitMs,
      },
    );
  // The fault is WhatsApp's own, and nothing was taken.
  if (code >= 500)
    return new GatewayError(
      "send.not_written",
      `WhatsApp could not take a message (${code}); it is tried again`,
    );
  if (message.isGroup && CLOSED_GROUP.has(code))
    return new GatewayError(
      "send.chat_closed",
      `WhatsApp lets this account not write to the group (${code})`,
    );
  const next = nextForm(code, message);
  const form = next === undefined ? undefined : stepDown(message.forms, next);
  return new GatewayError(
    "send.refused",
    `WhatsApp refused a message (${code}): ${REASONS[code] ?? "it gives no reason"}`,
    form === undefined ? {} : { stepDown: form },
  );
}

function nextForm(code: number, { kind, hasContext, forms }: RefusedMessage): Form | undefined {
  if (code !== MALFORMED) return undefined;
  if (hasContext && !forms.has("alone")) return "alone";
  return kind === "media" ? "document" : undefined;
}

const REASONS: Readonly<Record<number, string>> = {
  [MALFORMED]: "it does not take it in this form",
  [STALE_DEVICES]: "it was addressed to devices that are no more",
  [STALE_GROUP]: "the group has changed how its members are addressed",
  [RESTRICTED]:
    "this account may not write to this person now; let them write first, and look on the phone whether the account is restricted",
};
