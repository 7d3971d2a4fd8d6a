import type { proto } from "@whiskeysockets/baileys";
import type { MessageEvent } from "../../../../src/core/events.ts";
import type { Quoted } from "./compose.ts";
import type { Contacts } from "../people/contacts.ts";
import type { Destination } from "./destination.ts";
import type { Outbox } from "./outbox.ts";
import { nameIn } from "../refs.ts";
import type { Said } from "../reading/said.ts";

export type QuoteParts = {
  readonly outbox: Pick<Outbox, "find">;
  readonly said: Pick<Said, "message">;
  readonly contacts: Pick<Contacts, "keyOf" | "jidOf">;
};

/** Clients show a few lines of it. */
const MOST_TEXT = 1_000;

/**
 * The message that is answered, ours or another's. Clients show what the answer carries, so one that is not kept any more
 * is answered without it.
 */
export async function quotedIn(
  ref: string,
  to: Destination,
  { outbox, said, contacts }: QuoteParts,
): Promise<Quoted | undefined> {
  const { id, participant } = nameIn(ref);
  if (participant === undefined) {
    const ours = await outbox.find(id);
    // In a group that is addressed by LID, clients know us by LID alone.
    if (ours && contacts.jidOf(ours.chat) === contacts.jidOf(to.chat))
      return { id, participant: to.me, message: ours.message };
  }
  const by = participant === undefined ? undefined : contacts.keyOf(participant);
  const theirs = await said.message(to.chat, { id, ...(by === undefined ? {} : { by }) });
  if (!theirs) return undefined;
  // A private chat is named after the other one; what else is in it was written by hand on our own phone.
  const from = participant ?? (theirs.from.id === to.chat ? to.jid : to.me);
  return { id, participant: from, message: shownIn(theirs) };
}

/** What it said, as clients show it above an answer: of a file, what kind it is. */
function shownIn({ content }: MessageEvent): proto.IMessage {
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const caption = text.slice(0, MOST_TEXT);
  const file = content.find((block) => block.type === "unfetched");
  switch (file?.kind) {
    case undefined:
      return { conversation: caption };
    case "image":
      return { imageMessage: { caption } };
    case "video":
      return { videoMessage: { caption } };
    case "audio":
      return { audioMessage: { ptt: file.declared.label === "voice note" } };
    case "file":
      return { documentMessage: { fileName: file.declared.filename ?? "file", caption } };
  }
}
