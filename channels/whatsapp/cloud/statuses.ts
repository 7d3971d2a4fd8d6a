import type { DeliveryEvent } from "../../../src/core/events.ts";
import type { KeyOf } from "./contacts.ts";
import { whyOf } from "./failures.ts";
import { type Change, type CloudFault, type CloudStatus, isoOf, listed, worded } from "./payload.ts";
import { type Forms, recipientForms } from "./people.ts";

/** Whom statuses are about. */
export function recipientsIn(change: Change): readonly Forms[] {
  return statusesIn(change).map(recipientForms);
}

/** Pure. "sent" says no more than the answer to the send did; a voice note that was played was read. */
export function deliveriesIn(change: Change, keyOf: KeyOf): readonly DeliveryEvent[] {
  return statusesIn(change).flatMap((status) => {
    const { id: ref, status: said = "", timestamp, errors } = status;
    const chat = keyOf(recipientForms(status));
    const now = STATUSES.get(said);
    if (ref === undefined || chat === undefined || now === undefined) return [];
    const why = now === "refused" ? { why: whyIn(listed(errors)) } : {};
    return [
      { type: "delivery", id: `${ref}/${said}`, chat, ref, status: now, ...why, sentAt: isoOf(timestamp) },
    ];
  });
}

/** Ids of messages that could not be delivered, as was found out after `since` (epoch ms). */
export function failedIn(change: Change, since: number): readonly string[] {
  return statusesIn(change).flatMap(({ id, status, timestamp }) =>
    status === "failed" && id !== undefined && Date.parse(isoOf(timestamp)) > since ? [id] : [],
  );
}

const STATUSES: ReadonlyMap<string, DeliveryEvent["status"]> = new Map([
  ["delivered", "delivered"],
  ["read", "read"],
  ["played", "read"],
  ["failed", "refused"],
]);

/** Of groups nothing is heard here. */
function statusesIn(change: Change): readonly CloudStatus[] {
  return listed(change.statuses).filter(({ recipient_type: type }) => type !== "group");
}

function whyIn([fault]: readonly CloudFault[]): string {
  const { code = 0, title } = fault ?? {};
  return whyOf(code, worded(title));
}
