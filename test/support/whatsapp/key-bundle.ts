import {
  type BinaryNode,
  encodeBigEndian,
  generateSignalPubKey,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  type SignalRepository,
} from "@whiskeysockets/baileys";
import { bigEndian, child, childBytes, node } from "./nodes.ts";

/** What the server keeps of a device's keys, and hands to whoever begins to write to it. */
export type KeyBundle = {
  readonly registrationId: number;
  readonly identity: Uint8Array;
  readonly signed: { readonly id: number; readonly value: Uint8Array; readonly signature: Uint8Array };
  /** Each is handed out once. */
  readonly preKeys: Map<number, Uint8Array>;
};

type Session = Parameters<SignalRepository["injectE2ESession"]>[0]["session"];

/** What a client uploads (`<iq xmlns="encrypt" type="set">`), beside what it had uploaded before. */
export function uploadedBundle(iq: BinaryNode, before: KeyBundle | undefined): KeyBundle {
  const signed = child(iq, "skey");
  const uploaded = getBinaryNodeChildren(getBinaryNodeChild(iq, "list"), "key").map(
    (key) => [bigEndian(childBytes(key, "id")), childBytes(key, "value")] as const,
  );
  return {
    registrationId: bigEndian(childBytes(iq, "registration")),
    identity: childBytes(iq, "identity"),
    signed: signedKey(signed),
    preKeys: new Map([...(before?.preKeys ?? []), ...uploaded]),
  };
}

export function signedKey(skey: BinaryNode): KeyBundle["signed"] {
  return {
    id: bigEndian(childBytes(skey, "id")),
    value: childBytes(skey, "value"),
    signature: childBytes(skey, "signature"),
  };
}

/** The answer to a client that asks for the keys of `jid`. */
export function bundleNode(jid: string, bundle: KeyBundle): BinaryNode {
  const { signed } = bundle;
  const preKey = takePreKey(bundle);
  return node("user", { jid }, [
    node("registration", {}, encodeBigEndian(bundle.registrationId)),
    node("type", {}, Buffer.from([5])),
    node("identity", {}, bundle.identity),
    node("skey", {}, [
      node("id", {}, encodeBigEndian(signed.id, 3)),
      node("value", {}, signed.value),
      node("signature", {}, signed.signature),
    ]),
    ...(preKey
      ? [node("key", {}, [node("id", {}, encodeBigEndian(preKey.id, 3)), node("value", {}, preKey.value)])]
      : []),
  ]);
}

/** What a sender begins to write to the bundle's owner with. */
export function sessionWith(bundle: KeyBundle): Session {
  const preKey = takePreKey(bundle);
  return {
    registrationId: bundle.registrationId,
    identityKey: generateSignalPubKey(bundle.identity),
    signedPreKey: {
      keyId: bundle.signed.id,
      publicKey: generateSignalPubKey(bundle.signed.value),
      signature: bundle.signed.signature,
    },
    ...(preKey ? { preKey: { keyId: preKey.id, publicKey: generateSignalPubKey(preKey.value) } } : {}),
  };
}

function takePreKey(bundle: KeyBundle): { id: number; value: Uint8Array } | undefined {
  for (const [id, value] of bundle.preKeys) {
    bundle.preKeys.delete(id);
    return { id, value };
  }
}
