import type { GroupMetadata } from "@whiskeysockets/baileys";

type Member = Pick<GroupMetadata["participants"][number], "id" | "lid" | "phoneNumber">;

type Mentioned = { readonly text: string; readonly jids: readonly string[] };

/**
 * Who is named in a text: "@" and the digits of a member's number or LID. Clients look for the one that the group uses, so
 * it is put in the place of the other one. Digits of anybody else are just text.
 */
export function mentionsIn(text: string, members: readonly Member[]): Mentioned {
  if (!text.includes("@")) return { text, jids: [] };
  const byDigits = new Map(
    members.flatMap((member) =>
      [member.id, member.lid, member.phoneNumber].flatMap((jid) =>
        jid ? [[userOf(jid), member.id] as const] : [],
      ),
    ),
  );
  const jids = new Set<string>();
  const written = text.replaceAll(/(?<![\w@])@\+?(\d{5,20})(?!\w)/g, (all, digits: string) => {
    const jid = byDigits.get(digits);
    if (jid === undefined) return all;
    jids.add(jid);
    return `@${userOf(jid)}`;
  });
  return { text: written, jids: [...jids] };
}

/** The part before "@", without a device. */
function userOf(jid: string): string {
  return jid.split(/[:@]/, 1)[0] ?? "";
}
