import { EventEmitter } from "node:events";
import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import { asError } from "../../../../src/core/errors.ts";

/** What Node's `fetch` sends requests over. */
export type Dispatcher = object;

export type Tls = { readonly rejectUnauthorized: boolean; readonly ca?: string };

/** An agent of https-proxy-agent or socks-proxy-agent: opens a way through its proxy. */
export type Tunnels = {
  connect(request: ClientRequest, options: TunnelOptions): Promise<Socket>;
};

type TunnelOptions = Tls & {
  readonly host: string;
  readonly port: number;
  readonly secureEndpoint: true;
  readonly servername?: string;
  readonly ALPNProtocols: string[];
};

/** Directly, or through a proxy. `fetch` of Node takes no agent but a dispatcher of undici, the library inside it. */
export function dispatcherOver(tls: Tls, tunnels?: Tunnels): Dispatcher {
  const Dispatching = insideClass();
  if (tunnels === undefined) return new Dispatching({ connect: tls });
  return new Dispatching({
    connect({ hostname, port, servername }, connected) {
      const options: TunnelOptions = {
        ...tls,
        host: hostname,
        port: Number(port) || 443,
        secureEndpoint: true,
        ALPNProtocols: ["http/1.1"],
        ...(servername ? { servername } : {}),
      };
      throughTunnel(tunnels, options).then(
        (socket) => connected(null, socket),
        (error: unknown) => connected(asError(error), null),
      );
    },
  });
}

/** @throws Error where the proxy, or what is behind it, cannot be reached. */
async function throughTunnel(tunnels: Tunnels, options: TunnelOptions): Promise<Socket> {
  // The agents tell a request of what they do, and need no more of it than that it listens.
  const request = Object.assign(new EventEmitter(), { destroy() {} });
  let refused: number | undefined;
  request.on("proxyConnect", ({ statusCode }: { readonly statusCode: number }) => {
    if (statusCode !== 200) refused = statusCode;
  });
  const socket = await tunnels.connect(request as unknown as ClientRequest, options);
  if (refused !== undefined) throw new Error(`the proxy answered ${refused}`);
  // It was paused until somebody reads.
  request.emit("socket", socket);
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
  });
  return socket;
}

type Connecting = (
  to: { readonly hostname: string; readonly port: string; readonly servername?: string | null },
  connected: (...outcome: [null, Socket] | [Error, null]) => void,
) => void;

type DispatcherClass = new (options: { readonly connect: Tls | Connecting }) => Dispatcher;

/** Node has undici inside and hands out its class by the dispatcher that `fetch` uses by itself alone. */
function insideClass(): DispatcherClass {
  // Node loads undici when one of its globals is first looked at.
  void globalThis.Response;
  const usual: unknown = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1"));
  if (typeof usual !== "object" || usual === null) throw new Error("this Node has no undici inside");
  return usual.constructor as DispatcherClass; // undici's Agent
}
