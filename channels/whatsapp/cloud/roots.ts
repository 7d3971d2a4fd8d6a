import { isLoopback } from "../loopback.ts";

/** Where Meta hands out files. */
const META = /(?:^|\.)(?:fbsbx\.com|whatsapp\.net|facebook\.com)$/;

/**
 * Whether the token may be sent to an address that Meta named: to Meta's own hosts over TLS, or to the stand-in itself
 * where the Graph API is one on this machine.
 */
export function isTrusted(address: string, graphRoot: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, origin } = new URL(address);
  if (isLoopback(graphRoot)) return origin === new URL(graphRoot).origin;
  return protocol === "https:" && META.test(hostname);
}
