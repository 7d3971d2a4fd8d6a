import { randomBytes } from "node:crypto";
import {
  aesEncryptGCM,
  type BinaryNode,
  hkdf,
  normalizeMessageContent,
  proto,
  S_WHATSAPP_NET,
} from "@whiskeysockets/baileys";
import type { Connection } from "./connection.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { attr, child, node, unixSeconds } from "./nodes.ts";
import type { World } from "./world.ts";

/** A receipt of the client's: that it has a message, could not read one, or misses a file. */
export async function takeReceipt(connection: Connection, receipt: BinaryNode): Promise<void> {
  const { world, device } = connection;
  if (!device) return connection.cut();
  const { id = "", to = "", type, participant } = receipt.attrs;
  connection.send(
    node("ack", {
      class: "receipt",
      id,
      from: to,
      ...(type === undefined ? {} : { type }),
      ...(participant ? { participant } : {}),
    }),
  );
  if (type === "retry") await world.person(participant ?? to)?.sayAgain(device, id);
  else if (type === "server-error") reupload(world, device, receipt);
  else device.take(receipt);
}

/** The phone of whoever sent the file is asked for it again, and answers with where it is now. */
function reupload(world: World, device: LinkedDevice, receipt: BinaryNode): void {
  const id = attr(receipt, "id");
  const fault = world.faults.reuploads.meets(id);
  const message = world.people.map((person) => person.said(id)?.message).find(Boolean);
  const fields = mediaOf(message);
  if (fault?.kind === "silence" || !device.phone.reachable) return;
  const directPath = fault ? undefined : world.media.reupload(fields?.directPath ?? "");
  const rmr = child(receipt, "rmr");
  const content =
    directPath && fields?.mediaKey
      ? sealedAnswer(id, fields.mediaKey, directPath)
      : node("error", { code: String(proto.MediaRetryNotification.ResultType.NOT_FOUND) });
  device.push(
    node("notification", { id, from: S_WHATSAPP_NET, type: "mediaretry", t: String(unixSeconds()) }, [
      rmr,
      content,
    ]),
  );
}

function sealedAnswer(id: string, mediaKey: Uint8Array, directPath: string): BinaryNode {
  const iv = randomBytes(12);
  const key = hkdf(mediaKey, 32, { info: "WhatsApp Media Retry Notification" });
  const answer = proto.MediaRetryNotification.encode({
    stanzaId: id,
    directPath,
    result: proto.MediaRetryNotification.ResultType.SUCCESS,
  }).finish();
  return node("encrypt", {}, [
    node("enc_p", {}, aesEncryptGCM(answer, key, iv, Buffer.from(id))),
    node("enc_iv", {}, iv),
  ]);
}

function mediaOf(
  message: proto.IMessage | undefined,
): { directPath?: string | null; mediaKey?: Uint8Array | null } | undefined {
  const content = normalizeMessageContent(message) ?? {};
  return (
    content.imageMessage ??
    content.videoMessage ??
    content.audioMessage ??
    content.documentMessage ??
    content.stickerMessage ??
    content.ptvMessage ??
    undefined
  );
}
