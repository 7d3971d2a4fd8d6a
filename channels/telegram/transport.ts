import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream";
import { asError } from "../../src/core/errors.ts";
import { endHandshake, poolsFor } from "./pool.ts";
import { withoutTokens } from "./secrets.ts";

/**
 * A call that ended without an answer of the Bot API. Holds no address and no cause: both carry the token.
 * `written` is false where no byte of the request can have left this machine.
 */
export class TransportError extends Error {
  readonly written: boolean;
  /** Of an answer that came from something in front of the Bot API. */
  readonly status?: number;

  constructor(message: string, written: boolean, status?: number) {
    super(withoutTokens(message));
    this.name = "TransportError";
    this.written = written;
    if (status !== undefined) this.status = status;
  }
}

/** Connections of one kind of call, kept open between calls. */
export type Line = {
  /** For grammY in place of its own: it tells what was written, and never waits on a connection that broke. */
  readonly fetch: (url: string, call: Outgoing) => Promise<{ json(): Promise<unknown> }>;
  /** @throws TransportError; gives any status. The body fails with a TransportError when it breaks off. */
  readonly open: (url: string, call: Outgoing) => Promise<Answer>;
  /** Ends every connection, also those in use; the next call opens a new one. */
  readonly renew: () => void;
  /** Ends connections that nothing uses; what is under way goes on. */
  readonly idle: () => void;
};

export type Outgoing = {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  readonly signal?: AbortSignal;
};

export type Answer = { readonly status: number; readonly body: AsyncIterable<Uint8Array> };

/** A connection that died without a word is noticed after this and what the system waits for its probes. */
const KEEP_ALIVE_MS = 15_000;

/** telegram-bot-api cuts what getUpdates gives at about 4 MiB; nothing else is as long. */
const ANSWER_BYTES = 16 * 1024 * 1024;

/** `proxy` is the address of one through which all goes: "http://…", "https://…", "socks5://…". */
export async function openLine(apiRoot: string, proxy?: string): Promise<Line> {
  const secure = apiRoot.startsWith("https:");
  const newPool = await poolsFor(secure, proxy);
  let pool = newPool();

  function open(url: string, call: Outgoing): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let connected = false;
      const { method, headers = {}, body, signal } = call;
      const fail = (error: unknown): void => {
        signal?.removeEventListener("abort", abort);
        reject(new TransportError(wordsFor(error, connected, proxy !== undefined), connected));
      };
      const request = (secure ? httpsRequest : httpRequest)(url, { method, headers, agent: pool });
      const abort = (): void => {
        const cutOff = new Error("it was cut off");
        // A request that waits for a connection would not tell of its end.
        fail(cutOff);
        endHandshake(request);
        request.destroy(cutOff);
      };
      request.on("proxyConnect", ({ statusCode }: { readonly statusCode: number }) => {
        if (statusCode === 200) return;
        fail(new Error(`it answered ${statusCode}`));
        request.destroy();
      });
      request.on("socket", (socket) => {
        socket.setKeepAlive(true, KEEP_ALIVE_MS);
        if (request.reusedSocket || !(secure || socket.connecting)) connected = true;
        else socket.once(secure ? "secureConnect" : "connect", () => (connected = true));
      });
      request.on("error", fail);
      request.on("response", (response) => {
        resolve({ status: response.statusCode ?? 0, body: read(response, signal, abort) });
      });
      if (signal?.aborted) abort();
      signal?.addEventListener("abort", abort, { once: true });
      if (body === undefined || typeof body === "string") request.end(body);
      // An error of it is told by the request, or came after the answer and changes nothing.
      else pipeline(body, request, () => {});
    });
  }

  return {
    open,
    async fetch(url, call) {
      const { status, body } = await open(url, call);
      const text = await readText(body, ANSWER_BYTES);
      return {
        async json() {
          try {
            return JSON.parse(text) as unknown;
          } catch {
            throw new TransportError(
              `Telegram answered ${status} and something that is no JSON`,
              true,
              status,
            );
          }
        },
      };
    },
    renew() {
      pool.destroy();
      pool = newPool();
    },
    idle() {
      for (const sockets of Object.values(pool.freeSockets))
        for (const socket of sockets ?? []) socket.destroy();
    },
  };
}

/** All of an answer; reading it to its end gives the connection back. @throws TransportError where it has more bytes. */
export async function readText(body: Answer["body"], mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new TransportError(`an answer of more than ${mostBytes} bytes came`, true);
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
    throw new TransportError(wordsFor(error, true, false), true);
  } finally {
    signal?.removeEventListener("abort", abort);
    response.destroy();
  }
}

function wordsFor(error: unknown, connected: boolean, proxied: boolean): string {
  const { message } = asError(error);
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
  const why = message === "" ? code : message;
  if (connected) return `the connection to Telegram broke: ${why}`;
  return `Telegram could not be reached${proxied ? " through the proxy" : ""}: ${why}`;
}
