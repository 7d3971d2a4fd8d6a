import { createHmac, randomBytes } from "node:crypto";
import { type BinaryNode, Curve, proto } from "@whiskeysockets/baileys";
import type { Connection } from "./connection.ts";
import { LinkedDevice } from "./linked-device.ts";
import { bytesOf, child, node, unixSeconds } from "./nodes.ts";
import type { Person } from "./person.ts";

const ACCOUNT_SIGNATURE = Buffer.from([6, 0]);
const DEVICE_SIGNATURE = Buffer.from([6, 1]);

/** What a client that registers makes its QR codes of. */
export function referencesStanza(count: number): BinaryNode {
  const references = Array.from({ length: count }, () =>
    node("ref", {}, Buffer.from(`2@${randomBytes(16).toString("hex")}`)),
  );
  return node("pair-device", {}, references);
}

/** What a QR code says: "https://wa.me/settings/linked_devices#<reference>,<noise key>,<identity key>,<secret>,<platform>". */
export function readQr(text: string): { readonly identity: Buffer; readonly secret: string } {
  const [, , identity, secret] = (text.split("#").pop() ?? "").split(",");
  if (identity === undefined || secret === undefined) throw new Error("this is no QR code of WhatsApp's");
  return { identity: Buffer.from(identity, "base64"), secret };
}

/**
 * The phone of `person` links the companion that registers over `connection`; the client is then sent to log in (515).
 * @throws Error when the companion does not sign with its own key.
 */
export async function link(connection: Connection, person: Person, secret: string): Promise<LinkedDevice> {
  const identity = connection.registration?.eIdent;
  if (!identity) throw new Error("this client does not register");
  const { world } = connection;
  const device = new LinkedDevice(person, world.nextDeviceNumber());
  world.devices.push(device);
  const account = person.signal.creds.signedIdentityKey;
  const details = proto.ADVDeviceIdentity.encode({
    rawId: 1,
    timestamp: unixSeconds(),
    keyIndex: device.number,
    accountType: proto.ADVEncryptionType.E2EE,
    deviceType: proto.ADVEncryptionType.E2EE,
  }).finish();
  const signed = proto.ADVSignedDeviceIdentity.encode({
    details,
    accountSignatureKey: account.public,
    accountSignature: Curve.sign(account.private, Buffer.concat([ACCOUNT_SIGNATURE, details, identity])),
  }).finish();
  const hmac = createHmac("sha256", Buffer.from(secret, "base64")).update(signed).digest();
  const answer = await connection.ask("md", [
    node("pair-success", {}, [
      node(
        "device-identity",
        {},
        proto.ADVSignedDeviceIdentityHMAC.encode({ details: signed, hmac }).finish(),
      ),
      node("device", { jid: device.pn, lid: device.lid }),
      node("platform", { name: "android" }),
    ]),
  ]);
  const back = proto.ADVSignedDeviceIdentity.decode(
    bytesOf(child(child(answer, "pair-device-sign"), "device-identity")),
  );
  const signedText = Buffer.concat([DEVICE_SIGNATURE, details, identity, account.public]);
  if (!back.deviceSignature || !Curve.verify(identity, signedText, back.deviceSignature))
    throw new Error("the companion's signature is wrong");
  connection.end(node("stream:error", { code: "515" }));
  return device;
}
