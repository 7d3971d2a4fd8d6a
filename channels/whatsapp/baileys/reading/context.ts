import type { proto } from "@whiskeysockets/baileys";

/** What stands around a message's words: whom it answers and names, whether it was forwarded. */
export function contextOf(
  message: proto.IMessage,
  kind: keyof proto.IMessage | undefined,
): proto.IContextInfo | undefined {
  const content: unknown = kind && message[kind];
  if (typeof content !== "object" || content === null || !("contextInfo" in content)) return undefined;
  return content.contextInfo ?? undefined;
}
