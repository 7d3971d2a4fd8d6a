import { deflateSync } from "node:zlib";
import { proto } from "@whiskeysockets/baileys";
import type { LinkedDevice } from "./linked-device.ts";
import { newId, node, unixSeconds } from "./nodes.ts";
import type { World } from "./world.ts";

/** Which part of the past it is, as WhatsApp names it. */
export type HistoryKind = "INITIAL_BOOTSTRAP" | "RECENT" | "FULL" | "ON_DEMAND";

const TOLD = new WeakSet<LinkedDevice>();

/** At the first login the phone tells a new device who is who, and what was said before. */
export async function initialHistory(world: World, device: LinkedDevice): Promise<void> {
  if (TOLD.has(device) || !device.phone.reachable) return;
  TOLD.add(device);
  await tellHistory(world, device, "INITIAL_BOOTSTRAP", device.phone.history);
}

/** The phone sends a part of its history, compressed within the message. */
export async function tellHistory(
  world: World,
  device: LinkedDevice,
  kind: HistoryKind,
  conversations: proto.IConversation[],
): Promise<void> {
  const history = proto.HistorySync.encode({
    syncType: proto.HistorySync.HistorySyncType[kind],
    progress: 100,
    conversations,
    phoneNumberToLidMappings: world.people.map(({ phone, lid }) => ({ pnJid: phone, lidJid: lid })),
  }).finish();
  await tellPeer(device, {
    protocolMessage: {
      type: proto.Message.ProtocolMessage.Type.HISTORY_SYNC_NOTIFICATION,
      historySyncNotification: {
        syncType: proto.Message.HistorySyncType[kind],
        progress: 100,
        initialHistBootstrapInlinePayload: deflateSync(history),
      },
    },
  });
}

/** A message of the phone to its own linked device that no chat shows. */
export async function tellPeer(device: LinkedDevice, message: proto.IMessage): Promise<void> {
  const { phone } = device;
  device.push(
    node(
      "message",
      {
        id: newId(),
        from: phone.phone,
        t: String(unixSeconds()),
        type: "text",
        category: "peer",
        peer_recipient_lid: phone.lid,
      },
      [await phone.encrypt(device, message)],
    ),
  );
}
