import { createCipheriv, createDecipheriv, createHmac, randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { asError, GatewayError } from "../../../../src/core/errors.ts";

/** Turns bytes into text that can be stored, and back. */
export type Seal = {
  /**
   * `place` is where the text will stand, such as its key in the state: it opens nowhere else.
   * "s1.<which key>.<nonce, ciphertext and tag>", or "p1.<the bytes>" without a key; base64url.
   */
  seal(plain: Uint8Array, place?: string): string;
  /** As `seal`, but the same text for the same bytes, by which a repeat is known. */
  sealAlike(plain: Uint8Array, place?: string): string;
  /**
   * Opens both forms, so that a key can be set later.
   * @throws GatewayError "data.unusable" where the key is another one, or the text was changed.
   */
  open(sealed: string, place?: string): Buffer;
  /** Whether there is a key. */
  readonly sealed: boolean;
};

/** What a connection keeps is all sealed for this, also in its backups. */
export const STATE = "whatsapp state";

const SEALED = "s1";
const PLAIN = "p1";
const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Of a key's name, by which another key is told apart from a damaged text. */
const NAME_BYTES = 6;

const stretch = promisify<string, string, number, Buffer>(scrypt);

/** Seals with a key made of `stateKey` for one purpose; without a `stateKey` the text is only marked as plain. */
export async function sealWith(stateKey: string | undefined, purpose: string): Promise<Seal> {
  if (stateKey === undefined) return OPEN;
  const key = await stretch(stateKey, `perch ${purpose}`, KEY_BYTES);
  const name = createHmac("sha256", key)
    .update("name")
    .digest()
    .subarray(0, NAME_BYTES)
    .toString("base64url");
  const sealWithNonce = (nonce: Uint8Array, plain: Uint8Array, place: string): string => {
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(place));
    const whole = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    return `${SEALED}.${name}.${whole.toString("base64url")}`;
  };
  return {
    sealed: true,
    seal: (plain, place = "") => sealWithNonce(randomBytes(NONCE_BYTES), plain, place),
    sealAlike(plain, place = "") {
      // Made of the bytes: none is used for others, and the same bytes tell only that they are the same.
      const nonce = createHmac("sha256", key).update(`nonce\0${place}\0`).update(plain).digest();
      return sealWithNonce(nonce.subarray(0, NONCE_BYTES), plain, place);
    },
    open(sealed, place = "") {
      const { by, bytes } = read(sealed);
      if (by === undefined) return bytes;
      if (by !== name)
        throw new GatewayError(
          "data.unusable",
          "it is sealed with another stateKey than the one that is set; set the one from before, " +
            "or restore a backup that was made with this one",
        );
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES));
        decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      } catch (thrown) {
        throw changed(asError(thrown));
      }
    },
  };
}

const OPEN: Seal = {
  sealed: false,
  seal: markedPlain,
  sealAlike: markedPlain,
  open(sealed) {
    const { by, bytes } = read(sealed);
    if (by !== undefined)
      throw new GatewayError(
        "data.unusable",
        "it is sealed and no stateKey is set; set the stateKey that it was sealed with",
      );
    return bytes;
  },
};

function markedPlain(plain: Uint8Array): string {
  return `${PLAIN}.${Buffer.from(plain).toString("base64url")}`;
}

/** Whether a text was stored without a key. */
export function isPlain(text: string): boolean {
  return text.startsWith(`${PLAIN}.`);
}

function read(text: string): { readonly by: string | undefined; readonly bytes: Buffer } {
  const [form, first = "", second] = text.split(".");
  if (form === PLAIN && second === undefined)
    return { by: undefined, bytes: Buffer.from(first, "base64url") };
  if (form === SEALED && second !== undefined) return { by: first, bytes: Buffer.from(second, "base64url") };
  throw changed();
}

function changed(cause?: Error): GatewayError {
  return new GatewayError("data.unusable", "it was changed or damaged; restore a backup", { cause });
}
