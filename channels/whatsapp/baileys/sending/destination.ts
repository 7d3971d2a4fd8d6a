import { type GroupMetadata, WAMessageAddressingMode } from "@whiskeysockets/baileys";
import { GatewayError } from "../../../../src/core/errors.ts";
import { isGroup, plain } from "../people/jids.ts";
import type { Account, Line, Me } from "../line.ts";

/** Where a message goes. */
export type Destination = {
  /** The chat as the gateway names it. */
  readonly chat: string;
  /** A person's address, by LID where it is known, or a group's. */
  readonly jid: string;
  /** Our own address there. */
  readonly me: string;
  /** Absent in a private chat. */
  readonly group?: GroupMetadata;
};

export type DestinationParts = {
  readonly account: Account;
  readonly contacts: { jidOf(chat: string): string };
  readonly groups: {
    /** What is known of a group. */
    metadata(jid: string): Promise<GroupMetadata | undefined>;
    /** What WhatsApp says of it now; undefined where it does not answer. */
    refresh(jid: string): Promise<GroupMetadata | undefined>;
  };
};

/**
 * @throws GatewayError "send.not_written" while there is no line, "send.chat_closed" where a group does not let us write.
 */
export async function destinationOf(chat: string, parts: DestinationParts): Promise<Destination> {
  const { line, me } = connected(parts.account);
  const jid = parts.contacts.jidOf(chat);
  if (!isGroup(jid)) {
    const lid = (await lidOf(jid, line)) ?? jid;
    return { chat, jid: lid, me: ownIn(me, isLidJid(lid)) };
  }
  const group = (await parts.groups.metadata(jid)) ?? (await askFor(jid, line));
  checkDoor(group, me);
  return { chat, jid, me: ownIn(me, group.addressingMode !== WAMessageAddressingMode.PN), group };
}

/** Why it is not known tells whether it will be. */
async function askFor(jid: string, { socket }: Line): Promise<GroupMetadata> {
  try {
    return await socket.groupMetadata(jid);
  } catch (cause) {
    const code = cause instanceof Error && "data" in cause ? Number(cause.data) : 0;
    throw NOT_IN.has(code)
      ? new GatewayError("send.chat_closed", `WhatsApp shows this account nothing of the group (${code})`, {
          cause,
        })
      : new GatewayError("send.not_written", "WhatsApp did not say who is in the group", { cause });
  }
}

/** What is answered about groups that we are not in, or that are no more. */
const NOT_IN: ReadonlySet<number> = new Set([401, 403, 404]);

/** @throws GatewayError "send.not_written". */
export function connected(account: Account): { readonly line: Line; readonly me: Me } {
  const line = account.line();
  const me = account.me();
  if (line && me) return { line, me };
  throw new GatewayError("send.not_written", "WhatsApp is not connected; it is sent once it is");
}

/** The LID of a person who is addressed by number: to such a number WhatsApp may deliver no more. Never throws. */
export async function lidOf(jid: string, { socket }: Line): Promise<string | undefined> {
  if (isLidJid(jid)) return undefined;
  // Where it cannot be asked now, the number is what we have.
  const lid = await socket.signalRepository.lidMapping.getLIDForPN(jid).catch(() => null);
  return lid === null ? undefined : plain(lid);
}

/** Whether people in that place are known by LID. */
function isLidJid(jid: string): boolean {
  return jid.endsWith("@lid");
}

function ownIn({ pn, lid }: Me, byLid: boolean): string {
  return (byLid ? lid : undefined) ?? pn;
}

function checkDoor({ participants, announce }: GroupMetadata, me: Me): void {
  const own = new Set([me.pn, me.lid]);
  const self = participants.find((member) =>
    [member.id, member.lid, member.phoneNumber].some((jid) => jid !== undefined && own.has(plain(jid))),
  );
  if (!self)
    throw new GatewayError("send.chat_closed", "this account is no member of the group; add it there again");
  if (announce && !self.admin)
    throw new GatewayError(
      "send.chat_closed",
      "only admins may write to the group; make this account one, or let all members write",
    );
}
