import {
  type AuthenticationCreds,
  type BinaryNode,
  Curve,
  DEFAULT_CONNECTION_CONFIG,
  encodeWAMessage,
  initAuthCreds,
  proto,
  type SignalKeyStore,
  type SignalKeyStoreWithTransaction,
  type SignalRepository,
  unpadRandomMax16,
} from "@whiskeysockets/baileys";
import { type KeyBundle, sessionWith } from "./key-bundle.ts";
import { memoryKeys } from "./memory-keys.ts";
import { attr, bytesOf, node } from "./nodes.ts";
import { SILENT } from "./silent-logger.ts";

const PRE_KEYS = 20;

/** The Signal end of a phone: the library's own code, with its keys in memory. */
export class SignalEndpoint {
  readonly creds: AuthenticationCreds = initAuthCreds();
  readonly bundle: KeyBundle;
  readonly #keys = oneAfterAnother(memoryKeys());
  readonly #repository: SignalRepository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(
    { creds: this.creds, keys: this.#keys },
    SILENT,
    async () => undefined,
  );
  readonly #sessions = new Set<string>();
  #nextPreKey = 1;

  constructor() {
    const { keyId, keyPair, signature } = this.creds.signedPreKey;
    this.bundle = {
      registrationId: this.creds.registrationId,
      identity: this.creds.signedIdentityKey.public,
      signed: { id: keyId, value: keyPair.public, signature },
      preKeys: new Map(),
    };
  }

  /** Makes keys until the server has enough of them. */
  async fillPreKeys(): Promise<void> {
    while (this.bundle.preKeys.size < PRE_KEYS) {
      const id = this.#nextPreKey++;
      const pair = Curve.generateKeyPair();
      await this.#keys.set({ "pre-key": { [id]: pair } });
      this.bundle.preKeys.set(id, pair.public);
    }
  }

  /** An `<enc>` for the device at `address`, whose session is begun with `bundle` where there is none. */
  async encrypt(address: string, bundle: KeyBundle, message: proto.IMessage): Promise<BinaryNode> {
    if (!this.#sessions.has(address)) {
      await this.#repository.injectE2ESession({ jid: address, session: sessionWith(bundle) });
      this.#sessions.add(address);
    }
    const { type, ciphertext } = await this.#repository.encryptMessage({
      jid: address,
      data: encodeWAMessage(message),
    });
    return node("enc", { v: "2", type }, ciphertext);
  }

  async decrypt(address: string, enc: BinaryNode): Promise<proto.IMessage> {
    const type = attr(enc, "type");
    if (type !== "pkmsg" && type !== "msg") throw new Error(`<enc> of type ${type} is for no single device`);
    const padded = await this.#repository.decryptMessage({ jid: address, type, ciphertext: bytesOf(enc) });
    this.#sessions.add(address);
    await this.fillPreKeys();
    return proto.Message.decode(unpadRandomMax16(padded));
  }

  /** The next message to `address` begins a new session, as after a retry receipt. */
  async forget(address: string): Promise<void> {
    this.#sessions.delete(address);
    await this.#repository.deleteSession([address]);
  }

  /** An `<enc>` for everybody in `group`, and the sender key that those need who have not had it. */
  async encryptForGroup(
    group: string,
    self: string,
    message: proto.IMessage,
  ): Promise<{ readonly enc: BinaryNode; readonly senderKey: proto.IMessage }> {
    const { ciphertext, senderKeyDistributionMessage } = await this.#repository.encryptGroupMessage({
      group,
      meId: self,
      data: encodeWAMessage(message),
    });
    return {
      enc: node("enc", { v: "2", type: "skmsg" }, ciphertext),
      senderKey: {
        senderKeyDistributionMessage: {
          groupId: group,
          axolotlSenderKeyDistributionMessage: senderKeyDistributionMessage,
        },
      },
    };
  }

  async takeSenderKey(author: string, item: proto.Message.ISenderKeyDistributionMessage): Promise<void> {
    await this.#repository.processSenderKeyDistributionMessage({ item, authorJid: author });
  }

  async decryptFromGroup(group: string, author: string, enc: BinaryNode): Promise<proto.IMessage> {
    const padded = await this.#repository.decryptGroupMessage({
      group,
      authorJid: author,
      msg: bytesOf(enc),
    });
    return proto.Message.decode(unpadRandomMax16(padded));
  }
}

/**
 * Transactions that write at once, in turn. The library's put writes off to their end, and libsignal's queues, which all
 * phones of this process share, run what one phone asks for within a transaction of before: what is written then is lost.
 */
function oneAfterAnother(keys: SignalKeyStore): SignalKeyStoreWithTransaction {
  let last: Promise<unknown> = Promise.resolve();
  return {
    ...keys,
    isInTransaction: () => false,
    async transaction(work) {
      const done = last.then(work);
      last = done.catch(() => {});
      return await done;
    },
  };
}
