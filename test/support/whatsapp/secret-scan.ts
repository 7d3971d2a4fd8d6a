import type { AuthenticationCreds } from "@whiskeysockets/baileys";

/** Names the private keys and secrets of an account that stand in some bytes, in any of the forms of `scanFor`. */
export function secretsIn(bytes: Buffer, creds: AuthenticationCreds): readonly string[] {
  const scan = scanFor(
    new Map<string, Uint8Array>([
      ["noiseKey", creds.noiseKey.private],
      ["signedIdentityKey", creds.signedIdentityKey.private],
      ["signedPreKey", creds.signedPreKey.keyPair.private],
      ["pairingEphemeralKeyPair", creds.pairingEphemeralKeyPair.private],
      ["advSecretKey", Buffer.from(creds.advSecretKey, "base64")],
    ]),
  );
  return scan(bytes);
}

/**
 * What names the secrets, by their names here, that stand in some bytes: raw, in hex, as a list of numbers, in base64 at
 * any place of a longer text, or in base64 of a text that has them in base64.
 */
export function scanFor(secrets: ReadonlyMap<string, Uint8Array>): (bytes: Buffer) => readonly string[] {
  // An account has a thousand keys: all are looked for in one pass, by how they begin.
  const byBeginning = new Map<number, { readonly name: string; readonly form: Buffer }[]>();
  for (const [name, secret] of secrets)
    for (const form of formsOf(Buffer.from(secret))) {
      const others = byBeginning.get(form.readInt32LE());
      if (others) others.push({ name, form });
      else byBeginning.set(form.readInt32LE(), [{ name, form }]);
    }
  return (bytes) => {
    const found = new Set<string>();
    for (let at = 0; at + 4 <= bytes.length; at += 1)
      for (const { name, form } of byBeginning.get(bytes.readInt32LE(at)) ?? [])
        if (bytes.subarray(at, at + form.length).equals(form)) found.add(name);
    return [...secrets.keys()].filter((name) => found.has(name));
  };
}

function formsOf(secret: Buffer): readonly Buffer[] {
  const numbers = Buffer.from(secret.join(","));
  const once = [secret, numbers].flatMap(inBase64);
  return [secret, numbers, Buffer.from(secret.toString("hex")), ...once, ...once.flatMap(inBase64)];
}

/** What is certain to stand in base64 of anything that holds these bytes, wherever they begin in it. */
function inBase64(bytes: Buffer): readonly Buffer[] {
  return ([0, 1, 2] as const).flatMap((skip) => {
    const whole = bytes.subarray(skip, skip + Math.floor((bytes.length - skip) / 3) * 3);
    return [whole.toString("base64"), whole.toString("base64url")].map((text) => Buffer.from(text));
  });
}
