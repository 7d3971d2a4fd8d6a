import {
  aesDecryptGCM,
  aesEncryptGCM,
  type BinaryNode,
  Curve,
  decodeBinaryNode,
  encodeBinaryNode,
  hkdf,
  NOISE_MODE,
  NOISE_WA_HEADER,
  proto,
  sha256,
} from "@whiskeysockets/baileys";
import type { Authority } from "./authority.ts";

export type NoiseEvents = {
  /** The handshake is done; `payload` is what the client logs in or registers with. */
  opened(payload: proto.IClientPayload): void;
  stanza(stanza: BinaryNode): Promise<void>;
};

type Transport = { readonly read: Buffer; readonly write: Buffer; reads: number; writes: number };

const NOTHING = Buffer.alloc(0);
const EDGE_ROUTING = Buffer.from("ED"); // before the header, then four bytes, of which three are the length of what follows

/** The server's end of Noise_XX_25519_AESGCM_SHA256 as WhatsApp frames it: three bytes of length before each. */
export class NoiseServer {
  readonly #authority: Authority;
  readonly #write: (bytes: Buffer) => void;
  readonly #ephemeral = Curve.generateKeyPair();
  #hash = Buffer.from(NOISE_MODE);
  #salt = this.#hash;
  #key = this.#hash;
  #counter = 0;
  #unread = NOTHING;
  #stage: "header" | "hello" | "finish" = "header";
  #transport: Transport | undefined;

  constructor(authority: Authority, write: (bytes: Buffer) => void) {
    this.#authority = authority;
    this.#write = write;
    this.#authenticate(NOISE_WA_HEADER);
  }

  send(stanza: BinaryNode): void {
    const transport = this.#transport;
    if (!transport) throw new Error("no stanza can be sent before the handshake is done");
    this.#frame(aesEncryptGCM(encodeBinaryNode(stanza), transport.write, nonce(transport.writes++), NOTHING));
  }

  async receive(bytes: Buffer, events: NoiseEvents): Promise<void> {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    if (this.#stage === "header" && !this.#header()) return;
    while (this.#unread.length >= 3) {
      const length = this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < 3 + length) return;
      const frame = this.#unread.subarray(3, 3 + length);
      this.#unread = this.#unread.subarray(3 + length);
      if (this.#transport) {
        const { read, reads } = this.#transport;
        this.#transport.reads += 1;
        await events.stanza(await decodeBinaryNode(aesDecryptGCM(frame, read, nonce(reads), NOTHING)));
      } else if (this.#stage === "hello") this.#hello(frame);
      else events.opened(this.#finish(frame));
    }
  }

  /** True when all of it was there. */
  #header(): boolean {
    if (this.#unread.subarray(0, 2).equals(EDGE_ROUTING)) {
      if (this.#unread.length < 7) return false;
      const length = this.#unread.readUIntBE(4, 3);
      if (this.#unread.length < 7 + length) return false;
      this.#unread = this.#unread.subarray(7 + length);
    }
    if (this.#unread.length < NOISE_WA_HEADER.length) return false;
    if (!this.#unread.subarray(0, NOISE_WA_HEADER.length).equals(NOISE_WA_HEADER))
      throw new Error("the client began with another header than WhatsApp's");
    this.#unread = this.#unread.subarray(NOISE_WA_HEADER.length);
    this.#stage = "hello";
    return true;
  }

  #hello(frame: Buffer): void {
    const ephemeral = proto.HandshakeMessage.decode(frame).clientHello?.ephemeral;
    if (!ephemeral) throw new Error("the client's hello has no key");
    this.#authenticate(ephemeral);
    this.#authenticate(this.#ephemeral.public);
    this.#mix(Curve.sharedKey(this.#ephemeral.private, ephemeral));
    const { server, chain } = this.#authority;
    const sealedKey = this.#encrypt(server.public);
    this.#mix(Curve.sharedKey(server.private, ephemeral));
    const payload = this.#encrypt(chain);
    const serverHello = { ephemeral: this.#ephemeral.public, static: sealedKey, payload };
    this.#frame(proto.HandshakeMessage.encode({ serverHello }).finish());
    this.#stage = "finish";
  }

  #finish(frame: Buffer): proto.IClientPayload {
    const finish = proto.HandshakeMessage.decode(frame).clientFinish;
    if (!finish?.static || !finish.payload) throw new Error("the client's last handshake message has no key");
    this.#mix(Curve.sharedKey(this.#ephemeral.private, this.#decrypt(finish.static)));
    const payload = proto.ClientPayload.decode(this.#decrypt(finish.payload));
    const keys = Buffer.from(hkdf(NOTHING, 64, { salt: this.#salt, info: "" }));
    this.#transport = { read: keys.subarray(0, 32), write: keys.subarray(32), reads: 0, writes: 0 };
    return payload;
  }

  #authenticate(data: Uint8Array): void {
    this.#hash = Buffer.from(sha256(Buffer.concat([this.#hash, data])));
  }

  #mix(secret: Uint8Array): void {
    const keys = Buffer.from(hkdf(Buffer.from(secret), 64, { salt: this.#salt, info: "" }));
    this.#salt = keys.subarray(0, 32);
    this.#key = keys.subarray(32);
    this.#counter = 0;
  }

  #encrypt(plain: Uint8Array): Buffer {
    const sealed = aesEncryptGCM(plain, this.#key, nonce(this.#counter++), this.#hash);
    this.#authenticate(sealed);
    return sealed;
  }

  #decrypt(sealed: Uint8Array): Buffer {
    const plain = aesDecryptGCM(sealed, this.#key, nonce(this.#counter++), this.#hash);
    this.#authenticate(sealed);
    return plain;
  }

  #frame(bytes: Uint8Array): void {
    const length = Buffer.alloc(3);
    length.writeUIntBE(bytes.length, 0, 3);
    this.#write(Buffer.concat([length, bytes]));
  }
}

function nonce(counter: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(counter, 8);
  return bytes;
}
