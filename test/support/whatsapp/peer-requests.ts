import { proto } from "@whiskeysockets/baileys";
import { tellHistory, tellPeer } from "./history.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { unixSeconds } from "./nodes.ts";
import type { World } from "./world.ts";

type Answer = proto.Message.PeerDataOperationRequestResponseMessage.IPeerDataOperationResult;

/** A linked device asks its own phone for something: older messages, or one that it could not decrypt. */
export async function takePeerRequest(
  world: World,
  device: LinkedDevice,
  id: string,
  message: proto.IMessage,
): Promise<void> {
  // The library wraps it like what it says to others.
  const { protocolMessage } = message.deviceSentMessage?.message ?? message;
  const request = protocolMessage?.peerDataOperationRequestMessage;
  if (!request || !device.phone.reachable) return;
  if (request.historySyncOnDemandRequest) await tellHistory(world, device, "ON_DEMAND", device.phone.history);
  const answers = (request.placeholderMessageResendRequest ?? []).flatMap(({ messageKey }) =>
    placeholderAnswer(world, messageKey ?? {}),
  );
  if (answers.length === 0) return;
  await tellPeer(device, {
    protocolMessage: {
      type: proto.Message.ProtocolMessage.Type.PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE,
      peerDataOperationRequestResponseMessage: {
        peerDataOperationRequestType: proto.Message.PeerDataOperationRequestType.PLACEHOLDER_MESSAGE_RESEND,
        stanzaId: id,
        peerDataOperationResult: answers,
      },
    },
  });
}

/** What the phone has of a message, unless nobody has it. */
function placeholderAnswer(world: World, key: proto.IMessageKey): Answer[] {
  const said = world.people.map((person) => person.said(key.id ?? "")).find(Boolean);
  if (!said || said.options.corrupt === "always") return [];
  const webMessageInfoBytes = proto.WebMessageInfo.encode({
    key,
    message: said.message,
    messageTimestamp: said.options.at ?? unixSeconds(),
  }).finish();
  return [{ placeholderMessageResendResponse: { webMessageInfoBytes } }];
}
