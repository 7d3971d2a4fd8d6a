import type { WhatsAppSettings } from "../../settings.ts";

/** Where files lie whose message names a path only. */
const USUAL_HOST = "mmg.whatsapp.net";
/** What phones write as the host of some files; it has none. */
const PAGE_HOST = "web.whatsapp.net";

/**
 * The address of a file. What a message says of it was written by whoever sent it: undefined unless it leads to
 * WhatsApp's own servers over https, or, in Perch's own tests, to the test server's machine and nowhere else.
 */
export function mediaAddress(
  { url, path }: { readonly url?: string; readonly path?: string },
  testServer: WhatsAppSettings["testServer"],
): URL | undefined {
  const named = url === undefined ? undefined : parsed(url);
  if (path === undefined) return named && isMediaHost(named, testServer) ? named : undefined;
  const isHint = named && named.hostname !== PAGE_HOST && isMediaHost(named, testServer);
  const host = isHint ? named.host : USUAL_HOST;
  const address = path.startsWith("/") ? parsed(`https://${host}${path}`) : undefined;
  return address?.host === host && isMediaHost(address, testServer) ? address : undefined;
}

/** Whether files may be taken from there and brought there. */
export function isMediaHost(address: URL, testServer: WhatsAppSettings["testServer"]): boolean {
  if (address.protocol !== "https:" || address.username !== "" || address.password !== "") return false;
  if (testServer) return address.hostname === new URL(testServer.url).hostname;
  return address.port === "" && address.hostname.endsWith(".whatsapp.net");
}

function parsed(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined;
}
