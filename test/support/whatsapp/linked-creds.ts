import { type AuthenticationCreds, initAuthCreds, proto } from "@whiskeysockets/baileys";

/** What a pairing adds to credentials that were made for it. */
export function linkedNow(creds: AuthenticationCreds = initAuthCreds()): AuthenticationCreds {
  const account = proto.ADVSignedDeviceIdentity.create({
    details: Buffer.from("details"),
    accountSignatureKey: Buffer.alloc(32, 7),
    accountSignature: Buffer.alloc(64, 8),
    deviceSignature: Buffer.alloc(64, 9),
  });
  return Object.assign(creds, {
    account,
    me: { id: "15550000001:7@s.whatsapp.net", lid: "9000000001:7@lid", name: "Perch" },
    signalIdentities: [
      { identifier: { name: "9000000001@lid", deviceId: 0 }, identifierKey: Buffer.alloc(33, 5) },
    ],
    platform: "android",
  });
}
