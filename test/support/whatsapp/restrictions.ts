import { type BinaryNode, QueryIds, S_WHATSAPP_NET, XWAPaths } from "@whiskeysockets/baileys";
import type { LinkedDevice } from "./linked-device.ts";
import { attr, newId, node, unixSeconds } from "./nodes.ts";

/** The account may begin no new chats until then, in seconds since 1970. */
export type Restriction = { readonly until: number; readonly type: string };

/** How many messages to new chats the account has left, as WhatsApp words it. */
export type MessageCap = {
  readonly total_quota: number;
  readonly used_quota: number;
  readonly capping_status?: string;
};

/** Puts the account under a restriction or lifts it, and tells the device so. */
export function restrict(device: LinkedDevice, restriction: Restriction | undefined): void {
  device.phone.restriction = restriction;
  tell(device, "NotificationUserReachoutTimelockUpdate", {
    xwa2_notify_account_reachout_timelock: wording(restriction),
  });
}

export function capMessages(device: LinkedDevice, cap: MessageCap): void {
  tell(device, "MessageCappingInfoNotification", { xwa2_notify_new_chat_messages_capping_info_update: cap });
}

/** The answer to a client that asks for its restriction (`<iq xmlns="w:mex">`); empty for whatever else it asks. */
export function mexAnswer(query: BinaryNode, restriction: Restriction | undefined): BinaryNode {
  const data =
    attr(query, "query_id") === QueryIds.REACHOUT_TIMELOCK.valueOf()
      ? { [XWAPaths.xwa2_fetch_account_reachout_timelock]: wording(restriction) }
      : {};
  return node("result", {}, Buffer.from(JSON.stringify({ data })));
}

function wording(restriction: Restriction | undefined): object {
  return restriction
    ? {
        is_active: true,
        time_enforcement_ends: String(restriction.until),
        enforcement_type: restriction.type,
      }
    : { is_active: false };
}

function tell(device: LinkedDevice, operation: string, data: object): void {
  const update = node("update", { op_name: operation }, Buffer.from(JSON.stringify({ data })));
  device.push(
    node("notification", { id: newId(), from: S_WHATSAPP_NET, type: "mex", t: String(unixSeconds()) }, [
      update,
    ]),
  );
}
