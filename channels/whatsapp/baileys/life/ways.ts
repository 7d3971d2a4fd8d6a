import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { WhatsAppSettings } from "../../settings.ts";
import { type Dispatcher, dispatcherOver, type Tls, type Tunnels } from "./dispatcher.ts";

/** How Baileys reaches the network: it has a knob for each of three kinds of calls. */
export type Ways = {
  /** The WebSocket. */
  readonly agent: HttpAgent;
  /** Uploads. */
  readonly fetchAgent: HttpAgent;
  /** Downloads, which it makes with `fetch`. */
  readonly dispatcher: Dispatcher;
};

/**
 * Directly or through the operator's proxy. Certificates are checked whatever NODE_TLS_REJECT_UNAUTHORIZED says: nothing
 * else tells that it is WhatsApp which answers.
 */
export async function waysFor({
  proxy,
  testServer,
}: Pick<WhatsAppSettings, "proxy" | "testServer">): Promise<Ways> {
  const tls: Tls = { rejectUnauthorized: true, ...(testServer ? { ca: testServer.ca } : {}) };
  if (proxy !== undefined) {
    const tunnels = await tunnelsOf(proxy, tls);
    return { agent: tunnels, fetchAgent: tunnels, dispatcher: dispatcherOver(tls, tunnels) };
  }
  const fetchAgent = new HttpsAgent(tls);
  const isPlain = testServer?.url.startsWith("ws:") ?? false;
  return { agent: isPlain ? new HttpAgent() : fetchAgent, fetchAgent, dispatcher: dispatcherOver(tls) };
}

async function tunnelsOf(proxy: string, tls: Tls): Promise<HttpAgent & Tunnels> {
  if (proxy.startsWith("socks")) {
    const { SocksProxyAgent } = await import("socks-proxy-agent");
    // Node's agents hand all of their options on to each connection; the type names those of SOCKS alone.
    return new SocksProxyAgent(proxy, tls as object);
  }
  const { HttpsProxyAgent } = await import("https-proxy-agent");
  return new HttpsProxyAgent(proxy, tls);
}
