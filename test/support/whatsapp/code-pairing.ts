import { randomBytes } from "node:crypto";
import {
  aesDecryptCTR,
  aesDecryptGCM,
  aesEncryptCTR,
  type BinaryNode,
  Curve,
  derivePairingCodeKey,
  hkdf,
  type KeyPair,
  S_WHATSAPP_NET,
} from "@whiskeysockets/baileys";
import type { Connection } from "./connection.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { attr, childBytes, newId, node, unixSeconds } from "./nodes.ts";
import { link } from "./pairing.ts";
import type { Person } from "./person.ts";

type Begun = {
  readonly person: Person;
  readonly sealedKey: Buffer;
  readonly reference: Buffer;
  readonly pair: KeyPair;
};

/** Linking by a code of eight characters that the person types on the phone. */
export class CodePairing {
  readonly #connection: Connection;
  #begun: Begun | undefined;
  #finish: ((sealed: Buffer) => void) | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The person whose number was given; undefined where no code was asked for. */
  get person(): Person | undefined {
    return this.#begun?.person;
  }

  /** The client's `<link_code_companion_reg>`, of either stage. */
  take(query: BinaryNode, registration: BinaryNode): void {
    if (attr(registration, "stage") === "companion_hello") this.#hello(query, registration);
    else {
      this.#connection.reply(query);
      this.#finish?.(childBytes(registration, "link_code_pairing_wrapped_key_bundle"));
    }
  }

  /** The person types the code; a wrong one fails where the keys of both ends are compared. */
  async type(code: string): Promise<LinkedDevice> {
    const begun = this.#begun;
    if (!begun) throw new Error("no code was asked for");
    const { sealedKey, pair, person } = begun;
    const companion = aesDecryptCTR(
      sealedKey.subarray(48),
      await derivePairingCodeKey(code, sealedKey.subarray(0, 32)),
      sealedKey.subarray(32, 48),
    );
    const sealed = await this.#askForBundle(begun, code);
    const shared = Curve.sharedKey(pair.private, companion);
    const key = hkdf(shared, 32, {
      salt: sealed.subarray(0, 32),
      info: "link_code_pairing_key_bundle_encryption_key",
    });
    const bundle = aesDecryptGCM(sealed.subarray(44), key, sealed.subarray(32, 44), Buffer.alloc(0));
    const identity = Curve.sharedKey(person.signal.creds.signedIdentityKey.private, bundle.subarray(0, 32));
    const secret = hkdf(Buffer.concat([shared, identity, bundle.subarray(64, 96)]), 32, {
      info: "adv_secret",
    });
    return link(this.#connection, person, Buffer.from(secret).toString("base64"));
  }

  #hello(query: BinaryNode, registration: BinaryNode): void {
    const person = this.#connection.world.person(attr(registration, "jid"));
    if (!person)
      return this.#connection.reply(query, [node("error", { code: "400", text: "bad-request" })], "error");
    this.#begun = {
      person,
      sealedKey: childBytes(registration, "link_code_pairing_wrapped_companion_ephemeral_pub"),
      reference: randomBytes(12),
      pair: Curve.generateKeyPair(),
    };
    this.#connection.reply(query, [
      node("link_code_companion_reg", { stage: "companion_hello" }, [
        node("link_code_pairing_ref", {}, this.#begun.reference),
      ]),
    ]);
  }

  async #askForBundle({ person, pair, reference }: Begun, code: string): Promise<Buffer> {
    const salt = randomBytes(32);
    const iv = randomBytes(16);
    const sealedKey = aesEncryptCTR(pair.public, await derivePairingCodeKey(code, salt), iv);
    const bundle = new Promise<Buffer>((resolve) => (this.#finish = resolve));
    this.#connection.send(
      node(
        "notification",
        { id: newId(), from: S_WHATSAPP_NET, type: "link_code_companion_reg", t: String(unixSeconds()) },
        [
          node("link_code_companion_reg", { stage: "primary_hello" }, [
            node("link_code_pairing_ref", {}, reference),
            node("primary_identity_pub", {}, person.signal.creds.signedIdentityKey.public),
            node("link_code_pairing_wrapped_primary_ephemeral_pub", {}, Buffer.concat([salt, iv, sealedKey])),
          ]),
        ],
      ),
    );
    return bundle;
  }
}
