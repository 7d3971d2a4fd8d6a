import type { ChatAddress } from "../../../src/core/identity.ts";
import { oneLine } from "../../../src/core/words.ts";
import { type Change, type CloudMessage, type CloudStatus, listed, worded } from "./payload.ts";

/**
 * A person by all ids that Meta gives: "+15551234567" for a phone number, and one that only this business knows them by,
 * "US.13491208655302741918", which is all there is of people who hide their number.
 */
export type Forms = readonly string[];

const PHONE = /^\d{7,15}$/;
const USER_ID = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}$/;

export function formsIn(change: Change, message: CloudMessage): Forms {
  const contact = contactOf(change, message);
  return formsOf([contact?.wa_id, message.from], [message.from_user_id, contact?.user_id]);
}

export function recipientForms({ recipient_id: phone, recipient_user_id: user }: CloudStatus): Forms {
  return formsOf([phone], [user]);
}

/** Phone numbers first: operators write them. */
export function formsOf(
  phones: readonly (string | undefined)[],
  userIds: readonly (string | undefined)[],
): Forms {
  const known = [
    ...phones.flatMap((phone) => (phone !== undefined && PHONE.test(phone) ? [`+${phone}`] : [])),
    ...userIds.filter((id) => id !== undefined && USER_ID.test(id)),
  ];
  return [...new Set(known.filter((form) => form !== undefined))];
}

/** What a person calls themselves; never their number. */
export function nameIn(change: Change, message: CloudMessage): string {
  const profile = contactOf(change, message)?.profile;
  return oneLine(worded(profile?.name ?? profile?.username)).slice(0, 100);
}

/** Whom a message is sent to, as the Graph API has it. */
export function recipientOf({ chat }: ChatAddress): { readonly to: string } | { readonly recipient: string } {
  return chat.startsWith("+") ? { to: chat.slice(1) } : { recipient: chat };
}

/** A batch of one person has one contact; in others the ids tell which it is. */
function contactOf(change: Change, { from, from_user_id: user }: CloudMessage) {
  const contacts = listed(change.contacts);
  const found = contacts.find(
    (each) =>
      (each.wa_id !== undefined && each.wa_id === from) ||
      (each.user_id !== undefined && each.user_id === user),
  );
  return found ?? (contacts.length === 1 ? contacts[0] : undefined);
}
