/**
 * What Meta's webhook brings, as far as it is read. It is signed, and read with care all the same: what is said to be there
 * may be missing. Source: WhatsApp Business Platform, messages webhook reference.
 */
export type Payload = { readonly object?: string; readonly entry?: readonly Entry[] };

type Entry = { readonly changes?: readonly { readonly field?: string; readonly value?: Change }[] };

export type Change = {
  readonly metadata?: { readonly phone_number_id?: string; readonly display_phone_number?: string };
  readonly contacts?: readonly CloudContact[];
  readonly messages?: readonly CloudMessage[];
  readonly statuses?: readonly CloudStatus[];
  readonly errors?: readonly CloudFault[];
};

/** `wa_id` is missing of people who hide their phone number; `user_id` is theirs for this business alone. */
export type CloudContact = {
  readonly profile?: { readonly name?: string; readonly username?: string };
  readonly wa_id?: string;
  readonly user_id?: string;
};

export type CloudFault = {
  readonly code?: number;
  readonly title?: string;
  readonly error_data?: { readonly details?: string };
};

export type CloudMessage = {
  readonly id?: string;
  readonly from?: string;
  readonly from_user_id?: string;
  readonly group_id?: string;
  /** Seconds since 1970. */
  readonly timestamp?: string;
  readonly type?: string;
  readonly context?: CloudContext;
  readonly referral?: CloudReferral;
  readonly errors?: readonly CloudFault[];
  readonly text?: { readonly body?: string };
  readonly image?: CloudMedia;
  readonly video?: CloudMedia;
  readonly audio?: CloudMedia;
  readonly document?: CloudMedia;
  readonly sticker?: CloudMedia;
  readonly location?: CloudLocation;
  readonly contacts?: readonly CloudCard[];
  readonly reaction?: { readonly message_id?: string; readonly emoji?: string };
  readonly interactive?: CloudInteractive;
  readonly button?: { readonly text?: string };
  readonly order?: CloudOrder;
  readonly system?: CloudSystem;
  readonly unsupported?: { readonly type?: string };
  readonly edit?: { readonly original_message_id?: string; readonly message?: CloudMessage };
  readonly revoke?: { readonly original_message_id?: string };
};

export type CloudContext = {
  /** Of the message that is answered. */
  readonly id?: string;
  readonly from?: string;
  readonly forwarded?: boolean;
  readonly frequently_forwarded?: boolean;
};

export type CloudMedia = {
  readonly id?: string;
  readonly mime_type?: string;
  readonly caption?: string;
  readonly filename?: string;
  readonly voice?: boolean;
  readonly animated?: boolean;
};

export type CloudLocation = {
  readonly latitude?: number;
  readonly longitude?: number;
  readonly name?: string;
  readonly address?: string;
};

export type CloudCard = {
  readonly name?: { readonly formatted_name?: string };
  readonly phones?: readonly { readonly phone?: string }[];
  readonly emails?: readonly { readonly email?: string }[];
};

export type CloudInteractive = {
  readonly button_reply?: CloudReply;
  readonly list_reply?: CloudReply;
  readonly nfm_reply?: { readonly name?: string; readonly body?: string; readonly response_json?: string };
};

export type CloudReply = { readonly id?: string; readonly title?: string };

export type CloudOrder = {
  readonly text?: string;
  readonly product_items?: readonly {
    readonly product_retailer_id?: string;
    readonly quantity?: number | string;
    readonly item_price?: number | string;
    readonly currency?: string;
  }[];
};

export type CloudSystem = {
  readonly type?: string;
  readonly wa_id?: string;
  readonly user_id?: string;
  readonly previous_user_id?: string;
};

export type CloudReferral = {
  readonly source_url?: string;
  readonly headline?: string;
  readonly body?: string;
};

export type CloudStatus = {
  /** That `send` gave. */
  readonly id?: string;
  readonly status?: string;
  readonly timestamp?: string;
  readonly recipient_id?: string;
  readonly recipient_user_id?: string;
  readonly recipient_type?: string;
  readonly errors?: readonly CloudFault[];
};

/** What concerns one of our numbers; a webhook belongs to an app, which may have many. Undefined for what is no payload. */
export function changesFor(value: unknown, phoneNumberId: string): readonly Change[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { object, entry } = value as Payload; // of Meta, which has signed it
  if (object !== "whatsapp_business_account") return [];
  return listed(entry)
    .flatMap(({ changes }) => listed(changes))
    .flatMap(({ field, value: change }) => (field === "messages" && change ? [change] : []))
    .filter(({ metadata }) => metadata?.phone_number_id === phoneNumberId);
}

/** A list of objects, whatever stands there. */
export function listed<T extends object>(given: readonly T[] | undefined): readonly T[] {
  const all: readonly T[] = Array.isArray(given) ? given : [];
  return all.filter((each) => typeof each === "object" && each !== null);
}

/** A text, whatever stands there. */
export function worded(given: unknown): string {
  return typeof given === "string" ? given : "";
}

/** Meta's seconds as ISO 8601; 1970 for what has none, so that a repeat is the same event. */
export function isoOf(seconds: string | undefined): string {
  const ms = Number(seconds ?? 0) * 1_000;
  return new Date(Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? ms : 0).toISOString();
}
