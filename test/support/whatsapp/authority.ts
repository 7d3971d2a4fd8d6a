import { Curve, proto, WA_CERT_DETAILS } from "@whiskeysockets/baileys";
import { unixSeconds } from "./nodes.ts";

const DAY = 86_400;

/** Stands in for WhatsApp's root key: signs the chain that the server shows in the handshake. */
export class Authority {
  readonly server = Curve.generateKeyPair();
  readonly chain: Uint8Array;
  readonly #root = Curve.generateKeyPair();

  constructor() {
    const { Details } = proto.CertChain.NoiseCertificate;
    const between = Curve.generateKeyPair();
    const dates = { notBefore: unixSeconds() - 60, notAfter: unixSeconds() + DAY };
    const intermediate = Details.encode({
      serial: 1,
      issuerSerial: WA_CERT_DETAILS.SERIAL,
      key: between.public,
      ...dates,
    }).finish();
    const leaf = Details.encode({ serial: 2, issuerSerial: 1, key: this.server.public, ...dates }).finish();
    this.chain = proto.CertChain.encode({
      intermediate: { details: intermediate, signature: Curve.sign(this.#root.private, intermediate) },
      leaf: { details: leaf, signature: Curve.sign(between.private, leaf) },
    }).finish();
  }

  get rootKeyHex(): string {
    return Buffer.from(this.#root.public).toString("hex");
  }

  /** Makes sockets of this process trust this authority and nobody else, until what it gives back is called. */
  trust(): () => void {
    const before = WA_CERT_DETAILS.PUBLIC_KEY;
    WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(this.#root.public);
    return () => void (WA_CERT_DETAILS.PUBLIC_KEY = before);
  }
}
