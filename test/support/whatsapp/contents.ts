import { createHmac, randomBytes } from "node:crypto";
import { aesEncryptGCM, proto, sha256 } from "@whiskeysockets/baileys";

const { Type } = proto.Message.ProtocolMessage;

/** The sender's new text for the message `key` names; phones let senders edit their own only. */
export function edit(key: proto.IMessageKey, text: string): proto.IMessage {
  const protocolMessage = {
    type: Type.MESSAGE_EDIT,
    key,
    editedMessage: { conversation: text },
    timestampMs: Date.now(),
  };
  return { protocolMessage };
}

/** "Delete for everyone". */
export function revoke(key: proto.IMessageKey): proto.IMessage {
  return { protocolMessage: { type: Type.REVOKE, key } };
}

/** An empty text takes the reaction back. */
export function reaction(key: proto.IMessageKey, text: string): proto.IMessage {
  return { reactionMessage: { key, text, senderTimestampMs: Date.now() } };
}

/** A poll, and the secret that votes are sealed with. */
export function poll(
  name: string,
  options: readonly string[],
  secret: Uint8Array = randomBytes(32),
): proto.IMessage {
  return {
    messageContextInfo: { messageSecret: secret },
    pollCreationMessageV3: {
      name,
      options: options.map((optionName) => ({ optionName })),
      selectableOptionsCount: 1,
    },
  };
}

/** A vote on the poll that `key` names, sealed as phones do it: for the poll's creator, by the voter's address. */
export function pollVote(
  key: proto.IMessageKey,
  { secret, creator, voter, chosen }: PollVote,
): proto.IMessage {
  const id = key.id ?? "";
  const inner = createHmac("sha256", Buffer.alloc(32)).update(secret).digest();
  const sealingKey = createHmac("sha256", inner)
    .update(Buffer.concat([Buffer.from(id + creator + voter + "Poll Vote"), Buffer.from([1])]))
    .digest();
  const encIv = randomBytes(12);
  const vote = proto.Message.PollVoteMessage.encode({
    selectedOptions: chosen.map((option) => sha256(Buffer.from(option))),
  }).finish();
  const encPayload = aesEncryptGCM(vote, sealingKey, encIv, Buffer.from(`${id}\0${voter}`));
  return {
    pollUpdateMessage: {
      pollCreationMessageKey: key,
      vote: { encPayload, encIv },
      senderTimestampMs: Date.now(),
    },
  };
}

export type PollVote = {
  readonly secret: Uint8Array;
  /** The addresses that creator and voter have in this chat. */
  readonly creator: string;
  readonly voter: string;
  readonly chosen: readonly string[];
};

/** What announces an album, and how its pictures say that they belong to it. */
export function album(images: number, videos = 0): proto.IMessage {
  return { albumMessage: { expectedImageCount: images, expectedVideoCount: videos } };
}

export function inAlbum(parentMessageKey: proto.IMessageKey, content: proto.IMessage): proto.IMessage {
  const associationType = proto.MessageAssociation.AssociationType.MEDIA_ALBUM;
  return { ...content, messageContextInfo: { messageAssociation: { associationType, parentMessageKey } } };
}
