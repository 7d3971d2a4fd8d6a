import { Agent as HttpAgent, type ClientRequest } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import type { HttpsProxyAgent } from "https-proxy-agent";

/** Connections that are kept open between calls. Node calls it an agent, which is another thing here. */
export type Pool = HttpAgent;

// A connection that idles longer is closed by us, before an edge closes it under a request that is being written.
const IDLE_MS = 10_000;

/**
 * Where IPv6 is announced and leads nowhere, IPv4 has its turn. Node gives each address 250 ms and then aborts, which is
 * less than a slow line's round trip (nodejs/node#54359).
 */
const CONNECTING = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1_500 } as const;

/** How to open pools for an address, directly or through a proxy: "http://…", "https://…", "socks5://…". */
export async function poolsFor(secure: boolean, proxy?: string): Promise<() => Pool> {
  if (proxy === undefined) {
    const options = { ...CONNECTING, keepAlive: true, timeout: IDLE_MS };
    return () => (secure ? new HttpsAgent(options) : new HttpAgent(options));
  }
  return proxy.startsWith("socks") ? await socksPools(proxy) : await tunnelPools(proxy);
}

async function socksPools(proxy: string): Promise<() => Pool> {
  const { SocksProxyAgent } = await import("socks-proxy-agent");
  return () => closingIdle(new SocksProxyAgent(proxy, { keepAlive: true, socketOptions: CONNECTING }));
}

async function tunnelPools(proxy: string): Promise<() => Pool> {
  const { HttpsProxyAgent: Base } = await import("https-proxy-agent");
  class Tunnels extends Base<string> {
    override async connect(request: ClientRequest, options: TunnelOptions): Promise<Socket> {
      const given = new AbortController();
      handshakes.set(request, given);
      // It is read before the call on the next line waits for anything.
      this.connectOpts = { ...this.connectOpts, signal: given.signal };
      try {
        return await super.connect(request, options);
      } finally {
        handshakes.delete(request);
      }
    }
  }
  return () => closingIdle(new Tunnels(proxy, { ...CONNECTING, keepAlive: true }));
}

type TunnelOptions = Parameters<HttpsProxyAgent<string>["connect"]>[1];

const handshakes = new WeakMap<ClientRequest, AbortController>();

/** Ends what a proxy has not answered yet: destroying a request that has no socket leaves that open for ever. */
export function endHandshake(request: ClientRequest): void {
  handshakes.get(request)?.abort();
}

/** Set afterwards: as an option, SOCKS takes it for the longest silence of a call, and CONNECT forgets it. */
function closingIdle<T extends Pool & { readonly options: { timeout?: number | undefined } }>(pool: T): T {
  pool.options.timeout = IDLE_MS;
  return pool;
}
