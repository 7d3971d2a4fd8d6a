import { proto } from "@whiskeysockets/baileys";

/** What stands around a message: what it answers, whom it names, and how long it is shown. */
type Context = {
  readonly quoted?: Quoted;
  readonly mentions?: readonly string[];
  /** Seconds, in a chat whose messages disappear. */
  readonly expiration?: number;
};

/** A message that is answered: as clients show it, by whom it is. */
export type Quoted = {
  readonly id: string;
  /** Of the sender, without a device. */
  readonly participant: string;
  readonly message: proto.IMessage;
};

/** No preview is asked for: Baileys would fetch addresses that the agent writes from this machine. */
export function textMessage(text: string): proto.IMessage {
  return { extendedTextMessage: { text } };
}

/** What stands below a file. Recordings have nothing there. */
export function withCaption(message: proto.IMessage, caption: string): proto.IMessage {
  const { imageMessage: image, videoMessage: video, documentMessage: document } = message;
  if (caption === "") return message;
  if (image) return { ...message, imageMessage: { ...image, caption } };
  if (video) return { ...message, videoMessage: { ...video, caption } };
  return document ? { ...message, documentMessage: { ...document, caption } } : message;
}

/** @param secret 32 random bytes, from which clients derive the keys of what refers to the message. */
export function inContext(message: proto.IMessage, context: Context, secret: Uint8Array): proto.IMessage {
  const contextInfo = contextOf(context);
  return {
    ...(contextInfo ? withContext(message, contextInfo) : message),
    messageContextInfo: { ...message.messageContextInfo, messageSecret: secret },
  };
}

/** The message as it is shown within another one: as it is, but for what it answers itself. */
function asQuoted(message: proto.IMessage): proto.IMessage {
  const { messageContextInfo: _secret, senderKeyDistributionMessage: _keys, ...shown } = message;
  return withContext(shown, undefined);
}

/** What stands beside the new message's content stands beside the edit. */
export function editOf(
  key: proto.IMessageKey,
  { messageContextInfo, ...editedMessage }: proto.IMessage,
  at: number,
): proto.IMessage {
  const { MESSAGE_EDIT } = proto.Message.ProtocolMessage.Type;
  return {
    protocolMessage: { key, editedMessage, timestampMs: at, type: MESSAGE_EDIT },
    ...(messageContextInfo ? { messageContextInfo } : {}),
  };
}

/** An empty text takes away the reaction that was there. */
export function reactionOf(key: proto.IMessageKey, sign: string, at: number): proto.IMessage {
  return { reactionMessage: { key, text: sign, senderTimestampMs: at } };
}

export function revokeOf(key: proto.IMessageKey): proto.IMessage {
  return { protocolMessage: { key, type: proto.Message.ProtocolMessage.Type.REVOKE } };
}

/** What holds an album together: the message that its files refer to. */
export function albumOf(count: { readonly images: number; readonly videos: number }): proto.IMessage {
  return { albumMessage: { expectedImageCount: count.images, expectedVideoCount: count.videos } };
}

export function inAlbum(message: proto.IMessage, parentMessageKey: proto.IMessageKey): proto.IMessage {
  const associationType = proto.MessageAssociation.AssociationType.MEDIA_ALBUM;
  return {
    ...message,
    messageContextInfo: {
      ...message.messageContextInfo,
      messageAssociation: { associationType, parentMessageKey },
    },
  };
}

/** What a message says, where it is a text. */
export function textIn(message: proto.IMessage): string | undefined {
  return message.extendedTextMessage?.text ?? message.conversation ?? undefined;
}

/** Whether it answers no message and names nobody. */
export function standsAlone(message: proto.IMessage): boolean {
  return Object.values(message).every((content: unknown) => {
    if (typeof content !== "object" || content === null || !("contextInfo" in content)) return true;
    const info = content.contextInfo as proto.IContextInfo | null | undefined; // as in each kind of message
    return !info?.stanzaId && !info?.mentionedJid?.length;
  });
}

function contextOf({ quoted, mentions = [], expiration }: Context): proto.IContextInfo | undefined {
  if (!quoted && mentions.length === 0 && expiration === undefined) return undefined;
  return {
    ...(quoted
      ? {
          stanzaId: quoted.id,
          participant: quoted.participant,
          quotedMessage: asQuoted(quoted.message),
        }
      : {}),
    ...(mentions.length === 0 ? {} : { mentionedJid: [...mentions] }),
    ...(expiration === undefined ? {} : { expiration }),
  };
}

/** Every kind of message keeps what stands around it in the same place, one level down. */
function withContext(message: proto.IMessage, contextInfo: proto.IContextInfo | undefined): proto.IMessage {
  const entries = Object.entries(message).map(([kind, content]: [string, unknown]) =>
    kind.endsWith("Message") && typeof content === "object" && content !== null
      ? [kind, { ...content, contextInfo }]
      : [kind, content],
  );
  return Object.fromEntries(entries) as proto.IMessage; // the same kinds as before
}
