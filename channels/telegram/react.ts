import type { Api } from "grammy";
import type { ReactionTypeEmoji } from "grammy/types";
import type { Clock } from "../../src/core/clock.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import { within } from "./deadline.ts";
import { destination, guestQuery } from "./place.ts";

const CALL_MS = 10_000;

/**
 * Puts one emoji at a message, in the place of the one that was there, or takes it away. A group may not allow it, and for
 * business accounts and guests there is none: nobody is troubled with that. Never throws.
 */
export async function react(
  to: ChatAddress,
  ref: string,
  sign: string | undefined,
  { api, clock }: { readonly api: Api["raw"]; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const message_id = Number(ref);
  const place = placeFor(to);
  if (!place || !Number.isInteger(message_id)) return;
  const emoji = sign as ReactionTypeEmoji["emoji"] | undefined; // one that is not in Telegram's list is refused
  const reaction = emoji === undefined ? [] : [{ type: "emoji" as const, emoji }];
  await within(clock, CALL_MS, signal, (cut) =>
    api.setMessageReaction({ ...place, message_id, reaction }, cut),
  ).catch(() => {});
}

/** Undefined where a bot cannot react. */
function placeFor(to: ChatAddress): { readonly chat_id: number } | undefined {
  if (guestQuery(to) !== undefined) return undefined;
  const { chat_id, business_connection_id: connection } = destination(to);
  // Bot API setMessageReaction names no business connection.
  return connection === undefined ? { chat_id } : undefined;
}
