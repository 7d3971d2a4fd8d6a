import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { answers, tools } from "./tools.mjs";

export type HttpTools = {
  readonly url: string;
  readonly port: number;
  /** Headers of each request, in their order. */
  readonly asked: readonly IncomingMessage["headers"][];
  close(): Promise<void>;
};

/** A real server of tools over HTTP, on loopback. With `token` it refuses who does not bring it. */
export async function startHttpTools(
  options: { readonly token?: string; readonly port?: number; readonly silent?: boolean } = {},
): Promise<HttpTools> {
  const { token, port = 0, silent = false } = options;
  const asked: IncomingMessage["headers"][] = [];
  const http = createServer((request, response) => {
    asked.push(request.headers);
    if (silent) return;
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end("no");
      return;
    }
    // Stateless, as the protocol's own examples have it: one of each for a request.
    const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: tools(0) }));
    server.setRequestHandler(
      CallToolRequestSchema,
      async ({ params }) => (await answers(params.name, params.arguments ?? {}, {})) as never, // as the protocol has it
    );
    const transport = new StreamableHTTPServerTransport({});
    void server.connect(transport as never).then(() => transport.handleRequest(request, response)); // its types are wider
  });
  await new Promise<void>((resolve) => {
    http.listen(port, "127.0.0.1", resolve);
  });
  const { port: at } = http.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${at}/mcp`,
    port: at,
    asked,
    close: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => {
        http.close(resolve);
      });
    },
  };
}
