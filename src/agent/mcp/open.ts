import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { z } from "zod";
import type { McpServer } from "../../core/agent.ts";
import type { Log } from "../../core/log.ts";
import { launch } from "./launch.ts";
import type { ListedTool, Link, ToolResult } from "./link.ts";

type Client = NonNullable<Awaited<ReturnType<MultiServerMCPClient["getClient"]>>>;

const MOST_TOOLS = 500;
const MOST_PAGES = 50;
const STDERR_LINES = 50;
const STDERR_CHARACTERS = 300;

/** Lists are read by ourselves: to the library, one tool that is malformed spoils all. */
const PAGE = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });
const TOOL = z.object({
  name: z.string().min(1).max(256),
  description: z.string().nullish(),
  inputSchema: z.unknown().optional(),
  annotations: z.object({ readOnlyHint: z.boolean().nullish() }).nullish().catch(undefined),
});
const RESULT = z.object({
  content: z.array(z.unknown()).catch([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional().catch(undefined),
});

/**
 * Connects to a server. `lost` is called once it is gone, `changed` when it has other tools.
 * @throws what the library throws; its message may hold an address with a key in it.
 */
export async function open(
  server: McpServer,
  ports: { readonly log: Log; readonly lost: () => void; readonly changed: () => void },
): Promise<Link> {
  const { name } = server;
  let failure: unknown;
  const hub = new MultiServerMCPClient({
    mcpServers: { [name]: wayTo(server) },
    onConnectionError: ({ error }) => {
      failure = error;
    },
    throwOnLoadError: false,
    onToolsListChanged: () => ports.changed(),
  });
  const client = await hub.getClient(name);
  if (client === undefined) {
    await hub.close();
    throw failure;
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- no element, but the protocol's client; it has no other way
  client.onclose = ports.lost;
  listen(client, name, ports.log);
  return {
    list: async (milliseconds) => await list(client, milliseconds),
    async call(tool, args, { milliseconds, signal }): Promise<ToolResult> {
      const options = { timeout: milliseconds, signal };
      return await client.request(
        { method: "tools/call", params: { name: tool, arguments: args } },
        RESULT,
        options,
      );
    },
    async close() {
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
      client.onclose = () => {};
      await hub.close();
    },
  };
}

function wayTo(server: McpServer): Way {
  if (server.use === "http") return { transport: "http", url: server.url, headers: { ...server.headers } };
  return { transport: "stdio", ...launch(server), env: { ...server.env }, stderr: "pipe" };
}

type Way =
  | { readonly transport: "http"; readonly url: string; readonly headers: Record<string, string> }
  | {
      readonly transport: "stdio";
      readonly command: string;
      readonly args: string[];
      readonly env: Record<string, string>;
      readonly stderr: "pipe";
    };

async function list(client: Client, milliseconds: number): Promise<readonly ListedTool[]> {
  const found: ListedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && found.length < MOST_TOOLS; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools, nextCursor } = await client.request({ method: "tools/list", params }, PAGE, {
      timeout: milliseconds,
    });
    for (const each of tools) {
      const { data } = TOOL.safeParse(each);
      if (data === undefined) continue;
      found.push({
        name: data.name,
        description: data.description ?? "",
        inputSchema: data.inputSchema,
        readOnly: data.annotations?.readOnlyHint === true,
      });
    }
    if (nextCursor === undefined || nextCursor === null || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return found.slice(0, MOST_TOOLS);
}

/** The first lines of what a program complains of, for whoever looks for why it does not work. */
function listen({ transport }: Client, server: string, log: Log): void {
  // The library's transport of a program has one; that of an address has none.
  const { stderr } = (transport ?? {}) as { readonly stderr?: NodeJS.ReadableStream | null };
  let left = STDERR_LINES;
  stderr?.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString("utf8").split("\n")) {
      if (left <= 0 || line.trim() === "") continue;
      left -= 1;
      log.debug(
        { server, line: line.slice(0, STDERR_CHARACTERS).toWellFormed() },
        "a server of tools complains",
      );
    }
  });
}
