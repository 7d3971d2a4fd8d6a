import type { proto } from "@whiskeysockets/baileys";
import type { Me } from "../line.ts";
import { isMe } from "./origin.ts";

/** Whether a message in a group is meant for us: by a mention of us or of all, or as a reply to what we have said. */
export function isAddressed(
  context: proto.IContextInfo | undefined,
  { me, isOurs }: { readonly me: Me; readonly isOurs: (id: string) => boolean },
): boolean {
  if (!context) return false;
  const { mentionedJid, nonJidMentions, participant, stanzaId } = context;
  if (mentionedJid?.some((jid) => isMe(jid, me)) || (nonJidMentions ?? 0) > 0) return true;
  // The sender may write whatever it likes: only what we know to have sent is ours.
  return isMe(participant, me) && !!stanzaId && isOurs(stanzaId);
}

/** A text without the mention of us that it begins with, which is an address and no word: "@90000000000001 /new". */
export function withoutAddress(words: string, { pn, lid }: Me): string {
  const [, user, rest = ""] = /^\s*@(\d{5,20})\s+([^]*)$/.exec(words) ?? [];
  const ours = [pn, lid].some((jid) => user !== undefined && jid?.split("@")[0] === user);
  return ours && rest.trim() !== "" ? rest : words;
}
