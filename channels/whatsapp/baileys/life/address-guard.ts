import { GatewayError } from "../../../../src/core/errors.ts";
import { isLoopback } from "../../loopback.ts";
import type { WhatsAppSettings } from "../../settings.ts";

/**
 * Where WhatsApp is reached; undefined for the library's own address. TLS is what tells that it is WhatsApp, so nothing
 * but a test's server on this machine can take its place.
 * @throws GatewayError "config.invalid" for any other.
 */
export function addressOf({ testServer }: Pick<WhatsAppSettings, "testServer">): string | undefined {
  if (testServer === undefined) return undefined;
  if (isLoopback(testServer.url)) return testServer.url;
  const { host } = new URL(testServer.url);
  throw new GatewayError(
    "config.invalid",
    `testServer is at ${host}, which is not this machine; take testServer out: it is for Perch's own tests`,
  );
}
