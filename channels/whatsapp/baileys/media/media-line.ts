import type { Agent, IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline, Readable } from "node:stream";
import { asError } from "../../../../src/core/errors.ts";
import type { WhatsAppSettings } from "../../settings.ts";

/** One request to a server of files, over a connection of its own. */
export type Exchange = {
  readonly headers?: Readonly<Record<string, string>>;
  /** Makes it a POST. */
  readonly body?: AsyncIterable<Uint8Array>;
};

/** Any status, also one that points elsewhere, which is not followed. */
export type Answer = {
  readonly status: number;
  /** Fails where the connection breaks before its end. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Must be called at the end, also where nothing of the body was read. */
  readonly close: () => void;
};

export type LineSettings = Pick<WhatsAppSettings, "proxy" | "testServer">;

// What WhatsApp Web's page sends; servers of files ask for it.
const ORIGIN = "https://web.whatsapp.com";

/**
 * Asks a server of files, directly or through the operator's proxy. An abort of `signal` ends all of it, at any time.
 * @throws the signal's reason, or Error in words that name no address: it holds the right to the file.
 */
export async function exchange(
  url: URL,
  { headers = {}, body }: Exchange,
  { proxy, testServer }: LineSettings,
  signal: AbortSignal,
): Promise<Answer> {
  const agent = proxy === undefined ? undefined : await agentFor(proxy, signal);
  signal.throwIfAborted();
  return await new Promise<Answer>((resolve, reject) => {
    const request = httpsRequest(url, {
      method: body === undefined ? "GET" : "POST",
      headers: { Origin: ORIGIN, ...headers },
      agent: agent ?? false,
      // Whatever the environment says: nothing else tells that it is WhatsApp which answers.
      rejectUnauthorized: true,
      ...(testServer ? { ca: testServer.ca } : {}),
    });
    const abort = (): void => {
      // A request that waits for a connection through a proxy would not tell of its end.
      reject(asError(signal.reason));
      request.destroy(asError(signal.reason));
    };
    signal.addEventListener("abort", abort, { once: true });
    request.on("close", () => signal.removeEventListener("abort", abort));
    // It stays: an error that comes after the answer is told by its body, and must not end the process.
    request.on("error", (error) => reject(signal.aborted ? asError(signal.reason) : error));
    // What the proxy answers instead of a connection would pass for the server's word on the file.
    request.on("proxyConnect", ({ statusCode }: { readonly statusCode: number }) => {
      if (statusCode === 200) return;
      reject(new Error(`the proxy answered ${statusCode}`));
      request.destroy();
    });
    request.on("response", (response) => {
      response.on("error", () => {});
      resolve({
        status: response.statusCode ?? 0,
        body: read(response, signal),
        close: () => void request.destroy(),
      });
    });
    if (body === undefined) request.end();
    // An error of it is told by the request, or came after the answer and changes nothing.
    else pipeline(Readable.from(body, { objectMode: false }), request, () => {});
  });
}

async function* read(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response) yield chunk as Uint8Array; // no encoding is set, so chunks are buffers
  } catch (error) {
    throw signal.aborted ? asError(signal.reason) : error;
  }
}

/** An agent of one request, so that its signal ends what a proxy has not answered yet. */
async function agentFor(proxy: string, signal: AbortSignal): Promise<Agent> {
  if (proxy.startsWith("socks")) {
    const { SocksProxyAgent } = await import("socks-proxy-agent");
    return new SocksProxyAgent(proxy);
  }
  const { HttpsProxyAgent } = await import("https-proxy-agent");
  return new HttpsProxyAgent(proxy, { signal });
}
