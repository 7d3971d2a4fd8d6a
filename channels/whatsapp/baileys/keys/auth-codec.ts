import { type AuthenticationCreds, BufferJSON, proto } from "@whiskeysockets/baileys";

/** What the library keeps of an account, as JSON in bytes; key material is base64 in it. */
export function encode(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value, BufferJSON.replacer));
}

/** A value of the key store. `type` is one of the library's, and may be one that it gets later. */
export function decodeKey(type: string, bytes: Uint8Array): unknown {
  const value: unknown = decode(bytes);
  if (type !== "app-state-sync-key" || !isObject(value)) return value;
  return proto.Message.AppStateSyncKeyData.fromObject(value);
}

export function decodeCreds(bytes: Uint8Array): AuthenticationCreds {
  const creds = decode(bytes) as AuthenticationCreds; // nothing else is sealed in its place
  // As a message of its protocol it has become one with base64 in it, which its readers do not expect.
  if (creds.account) creds.account = proto.ADVSignedDeviceIdentity.fromObject(creds.account);
  return creds;
}

function decode(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString("utf8"), BufferJSON.reviver);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
