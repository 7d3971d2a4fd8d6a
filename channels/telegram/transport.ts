import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream";
import { asError } from "../../src/core/errors.ts";

/**
 * A call that ended without an answer of the Bot API. Holds no address and no cause: both carry the token.
 * `written` is false where no byte of the request can have left this machine.
 */
export class TransportError extends Error {
  readonly written: boolean;
  /** Of an answer that came from something in front of the Bot API. */
  readonly status?: number;

  constructor(message: string, written: boolean, status?: number) {
    super(message);
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

// A connection that idles longer is closed by us, before an edge closes it under a request that is being written.
const IDLE_MS = 10_000;

export function openLine(apiRoot: string): Line {
  const secure = apiRoot.startsWith("https:");
  const options = { keepAlive: true, timeout: IDLE_MS };
  const agent = secure ? new HttpsAgent(options) : new HttpAgent(options);

  function open(url: string, call: Outgoing): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let connected = false;
      const { method, headers = {}, body, signal } = call;
      const fail = (error: unknown): void => {
        signal?.removeEventListener("abort", abort);
        reject(new TransportError(wordsFor(error, connected), connected));
      };
      const request = (secure ? httpsRequest : httpRequest)(url, { method, headers, agent });
      const abort = (): void => void request.destroy(new Error("it was cut off"));
      request.on("socket", (socket) => {
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
      const text = await readText(body);
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
    idle() {
      for (const sockets of Object.values(agent.freeSockets))
        for (const socket of sockets ?? []) socket.destroy();
    },
  };
}

/** All of an answer; reading it to its end gives the connection back. */
export async function readText(body: Answer["body"]): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
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
    throw new TransportError(wordsFor(error, true), true);
  } finally {
    signal?.removeEventListener("abort", abort);
    response.destroy();
  }
}

function wordsFor(error: unknown, connected: boolean): string {
  const { message } = asError(error);
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
  const why = message === "" ? code : message;
  return connected ? `the connection to Telegram broke: ${why}` : `Telegram could not be reached: ${why}`;
}
