import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { boundaryOf, parseMultipart } from "../telegram/multipart.ts";
import type { GraphEmulator } from "./emulator.ts";
import type { GraphFault, Route } from "./faults.ts";
import { sha256Of } from "./files.ts";
import { GraphRefusal } from "./refusal.ts";
import { record } from "./rules.ts";

export type GraphServer = {
  readonly origin: string;
  /** @throws AggregateError of what went wrong in the emulator itself. */
  close(): Promise<void>;
};

/** The Graph API over HTTP, on a free port of this machine. */
export async function serveGraph(graph: GraphEmulator): Promise<GraphServer> {
  const failures: unknown[] = [];
  const server = createServer((request, response) => {
    exchange(graph, request, response).catch((error: unknown) => {
      failures.push(error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP, so neither a string nor null
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      if (failures.length > 0) throw new AggregateError(failures.splice(0), "the Graph emulator failed");
    },
  };
}

async function exchange(
  graph: GraphEmulator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", "http://emulator");
  const body = await bodyOf(request);
  if (!body) return; // the client hung up before all was here
  const found = routeOf(graph, request.method ?? "", url.pathname);
  const route = found === "messages" && isMark(body) ? "marks" : found;
  if (route) graph.calls.push(route);
  const fault = route && graph.faults.of(route);
  if (fault && before(fault, request, response)) return;
  try {
    if (!route) throw new GraphRefusal(404, 2500, "Unknown path components");
    if (request.headers.authorization !== `Bearer ${graph.token}`)
      throw new GraphRefusal(401, 190, "Invalid OAuth access token - Cannot parse access token");
    if (route === "file") return file(graph, url, fault, request, response);
    const answer = answerOf(graph, route, url, request, body);
    write(response, request, 200, Buffer.from(JSON.stringify(answer)), fault);
  } catch (error) {
    if (!(error instanceof GraphRefusal)) throw error;
    refuse(response, error);
  }
}

function routeOf({ phoneNumberId }: GraphEmulator, method: string, path: string): Route | undefined {
  if (path === "/attachments/") return "file";
  const [, version = "", id = "", edge] = path.split("/");
  if (!/^v\d+\.\d+$/.test(version)) return undefined;
  if (method === "POST" && id === phoneNumberId && (edge === "messages" || edge === "media")) return edge;
  if (method !== "GET" || edge !== undefined) return undefined;
  return id === phoneNumberId ? "number" : "lookup";
}

function isMark(body: Buffer): boolean {
  return body.includes('"status":"read"');
}

function answerOf(
  graph: GraphEmulator,
  route: Exclude<Route, "file">,
  url: URL,
  request: IncomingMessage,
  body: Buffer,
): object {
  switch (route) {
    case "messages":
    case "marks":
      return graph.accept(record(JSON.parse(body.toString()))).commit();
    case "media": {
      const { fields, files } = parseMultipart(body, boundaryOf(request.headers["content-type"] ?? "") ?? "");
      const upload = files.get("file");
      if (fields["messaging_product"] !== "whatsapp" || !upload)
        throw new GraphRefusal(400, 100, "(#100) The parameter messaging_product is required.");
      return { id: graph.files.upload(fields["type"] ?? "", upload.bytes).id };
    }
    case "lookup": {
      const id = url.pathname.split("/")[2] ?? "";
      const { path, file: found } = graph.files.addressOf(id);
      return {
        messaging_product: "whatsapp",
        url: `${graph.server?.origin ?? ""}${path}`,
        mime_type: found.type,
        sha256: sha256Of(found.bytes, "hex"),
        file_size: found.bytes.length,
        id,
      };
    }
    case "number":
      return {
        verified_name: "Fern & Co",
        display_phone_number: "+1 555-078-3881",
        quality_rating: "GREEN",
        id: graph.phoneNumberId,
      };
  }
}

function file(
  graph: GraphEmulator,
  url: URL,
  fault: GraphFault | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const found = graph.files.at(url.pathname + url.search);
  if (!found) return void response.writeHead(404, { "content-type": "text/html" }).end("<h1>404</h1>");
  if (fault?.kind === "redirect") return void response.writeHead(302, { location: fault.to }).end();
  const bytes = fault?.kind === "tamper" ? Buffer.alloc(found.bytes.length, 0x2e) : found.bytes;
  write(response, request, 200, bytes, fault);
}

/** True when the fault has answered, or will never answer. */
function before(fault: GraphFault, request: IncomingMessage, response: ServerResponse): boolean {
  switch (fault.kind) {
    case "refuse": {
      const { status, code, message = "Something is not right", details, retryAfterSeconds } = fault;
      const more = { ...(details ? { details } : {}), ...(retryAfterSeconds ? { retryAfterSeconds } : {}) };
      refuse(response, new GraphRefusal(status, code, message, more));
      return true;
    }
    case "drop":
    case "html":
    case "silence":
      if (fault.when === "before") write(response, request, 200, Buffer.alloc(0), fault);
      return fault.when === "before";
    case "stall":
    case "cut":
    case "tamper":
    case "redirect":
      return false;
  }
}

function write(
  response: ServerResponse,
  request: IncomingMessage,
  status: number,
  body: Buffer,
  fault: GraphFault | undefined,
): void {
  const whole = { "content-type": "application/json", "content-length": body.length };
  switch (fault?.kind) {
    case "drop":
      return void request.socket.destroy();
    case "silence":
      return;
    case "html":
      response.writeHead(fault.status, { "content-type": "text/html" });
      return void response.end(`<html><body><h1>${fault.status}</h1></body></html>`);
    case "stall":
      response.writeHead(status, whole);
      return void response.write(body.subarray(0, fault.afterBytes));
    case "cut":
      response.writeHead(status, whole);
      return void response.write(body.subarray(0, fault.afterBytes), () => request.socket.destroy());
    case "refuse":
    case "tamper":
    case "redirect":
    case undefined:
      response.writeHead(status, whole);
      response.end(body);
  }
}

function refuse(response: ServerResponse, refusal: GraphRefusal): void {
  const { status, retryAfterSeconds: seconds } = refusal;
  if (seconds !== undefined) response.setHeader("retry-after", seconds);
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(refusal));
}

/** Undefined where the client hung up. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Uint8Array); // no encoding is set, so chunks are buffers
    return Buffer.concat(chunks);
  } catch {
    return undefined;
  }
}
