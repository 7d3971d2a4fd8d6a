import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { pipeline, type Readable } from "node:stream";
import { asError } from "../../../src/core/errors.ts";
import { withoutSecrets } from "./secrets.ts";

/**
 * A call that ended without an answer. `written` is false where no byte of the request can have left this machine. Holds no
 * cause: Node's own errors carry the request with its token.
 */
export class LineError extends Error {
  readonly written: boolean;

  constructor(message: string, written: boolean) {
    super(withoutSecrets(message));
    this.name = "LineError";
    this.written = written;
  }
}

export type Outgoing = {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  readonly signal?: AbortSignal;
};

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Fails with a LineError when it breaks off. */
  readonly body: AsyncIterable<Uint8Array>;
};

/** Connections to Meta, kept open between calls. */
export type Line = {
  /** Gives any status and follows no redirect. @throws LineError. */
  open(url: string, call: Outgoing): Promise<Answer>;
  /** Ends connections that nothing uses. */
  idle(): void;
};

// A connection that idles longer is closed by us, before an edge closes it under a request that is being written.
const IDLE_MS = 10_000;
/** A connection that died without a word is noticed after this and what the system waits for its probes. */
const KEEP_ALIVE_MS = 15_000;
/** Node gives each address 250 ms, which is less than a slow line's round trip (nodejs/node#54359). */
const CONNECTING = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1_500 } as const;

/** `proxy` is the address of one through which all goes: "http://…", "https://…", "socks5://…". */
export async function openLine(proxy?: string): Promise<Line> {
  const pools = await poolsFor(proxy);
  return {
    open: (url, call) => open(url, call, pools, proxy !== undefined),
    idle() {
      for (const pool of new Set(Object.values(pools)))
        for (const sockets of Object.values(pool.freeSockets))
          for (const socket of sockets ?? []) socket.destroy();
    },
  };
}

type Pools = { readonly http: HttpAgent; readonly https: HttpAgent };

async function poolsFor(proxy: string | undefined): Promise<Pools> {
  if (proxy === undefined) {
    const options = { ...CONNECTING, keepAlive: true, timeout: IDLE_MS };
    return { http: new HttpAgent(options), https: new HttpsAgent(options) };
  }
  if (proxy.startsWith("socks")) {
    const { SocksProxyAgent } = await import("socks-proxy-agent");
    const pool = new SocksProxyAgent(proxy, { keepAlive: true, socketOptions: CONNECTING });
    return { http: pool, https: pool };
  }
  const { HttpsProxyAgent } = await import("https-proxy-agent");
  const pool = new HttpsProxyAgent(proxy, { ...CONNECTING, keepAlive: true });
  return { http: pool, https: pool };
}

function open(url: string, call: Outgoing, pools: Pools, proxied: boolean): Promise<Answer> {
  const secure = url.startsWith("https:");
  const { method, headers = {}, body, signal } = call;
  return new Promise((resolve, reject) => {
    let connected = false;
    const fail = (error: unknown): void => {
      signal?.removeEventListener("abort", abort);
      reject(new LineError(wordsFor(error, connected, proxied), connected));
    };
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method,
      headers,
      agent: secure ? pools.https : pools.http,
    });
    const abort = (): void => {
      const cutOff = new Error("it was cut off");
      // A request that waits for a connection would not tell of its end.
      fail(cutOff);
      request.destroy(cutOff);
    };
    request.on("proxyConnect", ({ statusCode }: { readonly statusCode: number }) => {
      if (statusCode === 200) return;
      fail(new Error(`the proxy answered ${statusCode}`));
      request.destroy();
    });
    request.on("socket", (socket) => {
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      if (request.reusedSocket || !(secure || socket.connecting)) connected = true;
      else socket.once(secure ? "secureConnect" : "connect", () => (connected = true));
    });
    request.on("error", fail);
    request.on("response", (response) => {
      const { statusCode: status = 0, headers: given } = response;
      resolve({ status, headers: given, body: read(response, signal, abort) });
    });
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    if (body === undefined || typeof body === "string") request.end(body);
    // An error of it is told by the request, or came after the answer and changes nothing.
    else pipeline(body, request, () => {});
  });
}

/** All of an answer; reading it to its end gives the connection back. @throws LineError where it has more bytes. */
export async function readText(body: Answer["body"], mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new LineError(`an answer of more than ${mostBytes} bytes came`, true);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function* read(
  response: IncomingMessage,
  signal: AbortSignal | undefined,
  abort: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response) yield chunk as Uint8Array; // no encoding is set, so chunks are buffers
  } catch (error) {
    throw new LineError(wordsFor(error, true, false), true);
  } finally {
    signal?.removeEventListener("abort", abort);
    response.destroy();
  }
}

function wordsFor(error: unknown, connected: boolean, proxied: boolean): string {
  const { message } = asError(error);
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
  const why = message === "" ? code : message;
  if (connected) return `the connection to Meta broke: ${why}`;
  return `Meta could not be reached${proxied ? " through the proxy" : ""}: ${why}`;
}
