import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pause, systemClock, type Clock } from "../../../src/core/clock.ts";

/** A request as it was received; `body` is its JSON. */
export type ModelRequest = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
};

/** JSON as somebody else sent it: looked at by tests, never trusted. */
export type Json = { readonly [key: string]: unknown };

type ToolCall = {
  readonly name: string;
  readonly args: Json;
  readonly id?: string;
  /** The arguments as the model wrote them, where they are no JSON; OpenAI's chat completions pass them on. */
  readonly written?: string;
};

/** What the model says. A string is its text. */
export type Reply = string | Answer | Fault | ((request: ModelRequest) => string | Answer | Fault);

export type Answer = {
  readonly text?: string;
  /** What the model thinks before it speaks, as far as the provider shows it. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  /** Why the model stopped, in the provider's own word; else that it was done, or calls tools. */
  readonly finish?: string;
  /** Milliseconds of the server's clock before the first byte. */
  readonly delayMs?: number;
  /** Milliseconds of the server's clock between two words of a stream. */
  readonly wordMs?: number;
};

type Fault =
  /** An error of the provider's own shape. */
  | {
      readonly fault: "status";
      readonly status: number;
      /** The provider's words; else it says that the failure was scripted. */
      readonly message?: string;
      readonly retryAfterSeconds?: number;
      /** The same as an HTTP date. */
      readonly retryAfterDate?: string;
    }
  /** The connection is reset before a byte is written. */
  | { readonly fault: "reset" }
  /** The connection is reset after so many words of the text. */
  | { readonly fault: "reset-mid-stream"; readonly text: string; readonly words: number }
  /** The request is taken and never answered. */
  | { readonly fault: "silence" };

export type ModelServerOptions = {
  readonly clock?: Clock;
  /** What is said when nothing was scripted; the last text of the person by default. */
  readonly otherwise?: Reply;
};

/** The server waits for what listeners return before it goes on, so that a test holds a stream without sleeping. */
type ModelEvents = {
  /** A request was read and recorded; nothing was said yet. */
  readonly request: ModelRequest;
  /** So many words of an answer were written; `text` is what they read. */
  readonly streaming: { readonly request: ModelRequest; readonly words: number; readonly text: string };
};

type Listener<Event extends keyof ModelEvents> = (at: ModelEvents[Event]) => Promise<void> | void;

export type ModelServer = {
  /** To be given to the client as its base URL. */
  readonly url: string;
  readonly requests: readonly ModelRequest[];
  /** What is said to the next request that nothing was scripted for yet. */
  reply(...replies: readonly Reply[]): void;
  on<Event extends keyof ModelEvents>(event: Event, listener: Listener<Event>): void;
  close(): Promise<void>;
};

/** What a provider's protocol adds to the server: where it listens, and how its answers are written. */
export type Protocol = {
  /** Added to the origin to make the client's base URL. */
  readonly basePath: string;
  serves(path: string): boolean;
  /** Whether a request asks for its answer word by word; where its body says `stream: true` by default. */
  streams?(request: ModelRequest): boolean;
  /** "text/event-stream" by default. */
  readonly streamType?: string;
  lastUserText(body: Json): string;
  /** What the real server refuses of a request. */
  refusal(body: Json): Refusal | undefined;
  error(status: number, message: string): Json;
  whole(request: ModelRequest, answer: Answer, number: number): Json;
  /** The stream's events: text that stands before the words, one per word, and what ends it. */
  stream(
    request: ModelRequest,
    answer: Answer,
    number: number,
  ): { open: string; word(word: string): string; end: string };
};

/** A request that is not valid: what the provider says of it. */
export type Refusal = { readonly status: number; readonly message: string };

/** A model server on loopback, on a free port, that records what it was asked and says what a test scripted. */
export async function startModelServer(
  protocol: Protocol,
  { clock = systemClock, otherwise }: ModelServerOptions = {},
): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const script: Reply[] = [];
  const listeners: { readonly [Event in keyof ModelEvents]: Listener<Event>[] } = {
    request: [],
    streaming: [],
  };

  const server = createServer((incoming, response) => {
    // A client that goes away mid-stream is a case that tests make on purpose.
    handle(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP

  return {
    url: `http://127.0.0.1:${port}${protocol.basePath}`,
    requests,
    reply: (...replies) => void script.push(...replies),
    on: (event, listener) => void listeners[event].push(listener),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readAll(incoming);
    const path = incoming.url ?? "";
    if (incoming.method !== "POST" || !protocol.serves(path)) {
      return sendJson(response, 404, protocol.error(404, `nothing is served at ${path}`));
    }
    const request: ModelRequest = {
      path,
      headers: Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: JSON.parse(text) as Json, // what clients of these protocols send
    };
    requests.push(request);
    const number = requests.length;
    for (const listener of listeners.request) await listener(request);

    const refusal = protocol.refusal(request.body);
    if (refusal) return sendJson(response, refusal.status, protocol.error(refusal.status, refusal.message));
    const scripted = script.shift() ?? otherwise ?? protocol.lastUserText(request.body);
    const said = typeof scripted === "function" ? scripted(request) : scripted;
    const reply = typeof said === "string" ? { text: said } : said;
    if ("fault" in reply && reply.fault !== "reset-mid-stream") return fail(reply, response);
    const answer: Answer = "fault" in reply ? { text: reply.text } : reply;
    const resetAfter = "fault" in reply ? reply.words : undefined;

    if (answer.delayMs !== undefined) await pause(clock, answer.delayMs);
    if (!(protocol.streams?.(request) ?? request.body["stream"] === true)) {
      if (resetAfter !== undefined) return void incoming.socket.resetAndDestroy();
      return sendJson(response, 200, protocol.whole(request, answer, number));
    }

    const events = protocol.stream(request, answer, number);
    const type = protocol.streamType ?? "text/event-stream";
    response.writeHead(200, { "content-type": type, "cache-control": "no-cache" });
    await write(response, events.open);
    let sent = "";
    let words = 0;
    for (const word of inWords(answer.text ?? "")) {
      if (words === resetAfter) return void incoming.socket.resetAndDestroy();
      if (words > 0 && answer.wordMs !== undefined) await pause(clock, answer.wordMs);
      await write(response, events.word(word));
      sent += word;
      words += 1;
      for (const listener of listeners.streaming) await listener({ request, words, text: sent });
    }
    if (resetAfter !== undefined) return void incoming.socket.resetAndDestroy();
    response.end(events.end);
  }

  function fail(fault: Exclude<Fault, { fault: "reset-mid-stream" }>, response: ServerResponse): void {
    switch (fault.fault) {
      case "status":
        if (fault.retryAfterSeconds !== undefined) response.setHeader("retry-after", fault.retryAfterSeconds);
        if (fault.retryAfterDate !== undefined) response.setHeader("retry-after", fault.retryAfterDate);
        return sendJson(
          response,
          fault.status,
          protocol.error(fault.status, fault.message ?? `scripted failure ${fault.status}`),
        );
      case "reset":
        return void response.socket?.resetAndDestroy();
      case "silence":
        return;
    }
  }
}

/** One server-sent event. */
export function sse(data: unknown, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** Roughly what a tokeniser would count; only its growth matters. */
export function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** The text of a message's content: a string, or the text blocks of a list. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .filter((block: Json) => block["type"] === "text")
    .map((block: Json) => String(block["text"]))
    .join("\n");
}

/** A list of objects in somebody else's JSON; empty where it is none. */
export function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []; // looked at by tests, never trusted
}

function inWords(text: string): readonly string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? (text === "" ? [] : [text]);
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer); // no encoding is set
  return Buffer.concat(chunks).toString("utf8");
}

function sendJson(response: ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function write(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (text === "") return resolve();
    response.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
