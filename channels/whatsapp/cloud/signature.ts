import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** Whether Meta has signed these bytes: `header` is X-Hub-Signature-256, "sha256=" and the HMAC in hex. */
export function isSigned(body: Uint8Array, header: string, appSecret: string): boolean {
  return isSame(header, `sha256=${createHmac("sha256", appSecret).update(body).digest("hex")}`);
}

/** Whether a header can be a signature at all: what cannot is turned away before its body is read. */
export function looksSigned(header: string): boolean {
  return /^sha256=[0-9a-f]{64}$/.test(header);
}

/** Compares digests, so that neither content nor length shows in the time it takes. */
export function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(digest(given), digest(secret));
}

function digest(words: string): Buffer {
  return createHash("sha256").update(words).digest();
}
