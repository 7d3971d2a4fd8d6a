import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Transcriber } from "../../src/core/agent.ts";

/** An upload as it was received. */
export type Upload = {
  readonly headers: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
  readonly file: {
    readonly name: string;
    readonly mimeType: string;
    readonly bytes: number;
    readonly sha256: string;
    /** The first ones. */
    readonly head: Buffer;
  };
};

/** What is answered. A string is the transcript; "silence" is no answer at all, ever. */
export type TranscriberReply =
  | string
  | { readonly status: number; readonly retryAfter?: string }
  | { readonly body: string }
  | { readonly fault: "silence" | "reset" };

export type TranscriberServer = {
  readonly transcriber: Transcriber & { readonly use: "openai" };
  readonly uploads: readonly Upload[];
  /** What is said to the next upload that nothing was scripted for; else `otherwise`. */
  reply(...replies: readonly TranscriberReply[]): void;
  otherwise: TranscriberReply;
  /** Resolves when so many uploads have been received. */
  whenUploads(count: number): Promise<void>;
  close(): Promise<void>;
};

export const TRANSCRIBER_KEY = "sk-not-to-be-seen";

/** A server of `/audio/transcriptions` on loopback, on a free port, that records what it was sent. */
export async function startTranscriber(): Promise<TranscriberServer> {
  const uploads: Upload[] = [];
  const script: TranscriberReply[] = [];
  const looking = new Set<() => void>();
  const server = createServer((incoming, response) => {
    // A client that gives up is a case that tests make on purpose.
    handle(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const started: TranscriberServer = {
    transcriber: {
      use: "openai",
      model: "whisper-1",
      baseUrl: `http://127.0.0.1:${port}/v1`,
      apiKey: TRANSCRIBER_KEY,
    },
    uploads,
    otherwise: "",
    reply: (...replies) => void script.push(...replies),
    whenUploads: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (uploads.length < count) return;
          looking.delete(look);
          resolve();
        };
        looking.add(look);
        look();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return started;

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer); // no encoding is set
    if (incoming.url !== "/v1/audio/transcriptions") return void response.writeHead(404).end();
    uploads.push(uploadIn(Buffer.concat(chunks), incoming.headers));
    const reply = script.shift() ?? started.otherwise;
    for (const look of looking) look();
    if (typeof reply === "string") return void response.end(JSON.stringify({ text: reply }));
    if ("body" in reply) return void response.end(reply.body);
    if ("fault" in reply) return reply.fault === "reset" ? void incoming.socket.resetAndDestroy() : undefined;
    if (reply.retryAfter !== undefined) response.setHeader("retry-after", reply.retryAfter);
    // As providers do: with the key in it.
    response.writeHead(reply.status).end(`{"error":{"message":"bad key ${TRANSCRIBER_KEY}"}}`);
  }
}

function uploadIn(body: Buffer, headers: IncomingMessage["headers"]): Upload {
  const boundary = /boundary=(\S+)/.exec(headers["content-type"] ?? "")?.[1] ?? "";
  const fields: Record<string, string> = {};
  let file: Upload["file"] | undefined;
  for (let at = body.indexOf(`--${boundary}`); at >= 0;) {
    const next = body.indexOf(`--${boundary}`, at + boundary.length);
    if (next < 0) break;
    const part = body.subarray(at + boundary.length + 4, next - 2);
    const split = part.indexOf("\r\n\r\n");
    const head = part.toString("utf8", 0, split);
    const content = part.subarray(split + 4);
    const name = /name="([^"]*)"/.exec(head)?.[1] ?? "";
    const filename = /filename="([^"]*)"/.exec(head)?.[1];
    if (filename === undefined) fields[name] = content.toString("utf8");
    else
      file = {
        name: filename,
        mimeType: /content-type: (\S+)/i.exec(head)?.[1] ?? "",
        bytes: content.length,
        sha256: createHash("sha256").update(content).digest("hex"),
        head: Buffer.from(content.subarray(0, 64)),
      };
    at = next;
  }
  if (!file) throw new Error("an upload without a file");
  return {
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    fields,
    file,
  };
}
