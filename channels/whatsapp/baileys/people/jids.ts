/** A person as WhatsApp knows them: "lid:90000000000002", or by phone number, "+15550000002". */
export type Form = `lid:${string}` | `+${string}`;

const PHONES = /^(?:s\.whatsapp\.net|c\.us|hosted)$/;
const LIDS = /^(?:lid|hosted\.lid)$/;
/** "<user>_<agent>:<device>@<server>"; what people's programs write for one may be anything. */
const ADDRESS = /^([A-Za-z\d.-]{1,64})(?:[_:][\d:]{1,10})?@([a-z.]{1,20})$/;
/** Meta's assistants, which have numbers as people do. */
const BOT = /^(?:1313555\d{4}|131655500\d{2})$/;

/** Which person an address is of, whatever device; undefined where it is nobody's: a group, a list, a channel. */
export function formOf(jid: string | null | undefined): Form | undefined {
  const { user, server } = partsOf(jid);
  if (!/^\d{1,20}$/.test(user)) return undefined;
  if (LIDS.test(server)) return `lid:${user}`;
  return PHONES.test(server) ? `+${user}` : undefined;
}

export function isLid(form: string): boolean {
  return form.startsWith("lid:");
}

/** Where a person or a group is written to: "90000000000002@lid", "15550000002@s.whatsapp.net", "1203…@g.us". */
export function jidIn(chat: string): string {
  if (chat.startsWith("lid:")) return `${chat.slice("lid:".length)}@lid`;
  return chat.startsWith("+") ? `${chat.slice(1)}@s.whatsapp.net` : chat;
}

/** An address without its device and in its usual writing; "" for none. */
export function plain(jid: string | null | undefined): string {
  const form = formOf(jid);
  if (form !== undefined) return jidIn(form);
  const { user, server } = partsOf(jid);
  return server === "" ? "" : `${user}@${server}`;
}

export function isGroup(jid: string | null | undefined): jid is string {
  return jid?.endsWith("@g.us") ?? false;
}

/** Statuses, lists to many, channels and Meta's assistants: nobody there talks to us. */
export function isNotForUs(jid: string): boolean {
  const { user, server } = partsOf(jid);
  return /^(?:broadcast|newsletter|bot)$/.test(server) || (PHONES.test(server) && BOT.test(user));
}

function partsOf(jid: string | null | undefined): { readonly user: string; readonly server: string } {
  const [, user = "", server = ""] = ADDRESS.exec(jid ?? "") ?? [];
  return { user, server };
}
