import type { AuthenticationCreds } from "@whiskeysockets/baileys";

/**
 * Names the private keys and secrets of an account that stand in some bytes: raw, in hex, in base64 at any place of a longer
 * text, or in base64 of a text that has them in base64.
 */
export function secretsIn(bytes: Buffer, creds: AuthenticationCreds): readonly string[] {
  const secrets: Readonly<Record<string, Uint8Array>> = {
    noiseKey: creds.noiseKey.private,
    signedIdentityKey: creds.signedIdentityKey.private,
    signedPreKey: creds.signedPreKey.keyPair.private,
    pairingEphemeralKeyPair: creds.pairingEphemeralKeyPair.private,
    advSecretKey: Buffer.from(creds.advSecretKey, "base64"),
  };
  return Object.entries(secrets).flatMap(([name, secret]) =>
    formsOf(Buffer.from(secret)).some((form) => bytes.includes(form)) ? [name] : [],
  );
}

function formsOf(secret: Buffer): readonly Buffer[] {
  const once = inBase64(secret);
  return [secret, Buffer.from(secret.toString("hex")), ...once, ...once.flatMap(inBase64)];
}

/** What is certain to stand in base64 of anything that holds these bytes, wherever they begin in it. */
function inBase64(bytes: Buffer): readonly Buffer[] {
  return ([0, 1, 2] as const).flatMap((skip) => {
    const whole = bytes.subarray(skip, skip + Math.floor((bytes.length - skip) / 3) * 3);
    return [whole.toString("base64"), whole.toString("base64url")].map((text) => Buffer.from(text));
  });
}
