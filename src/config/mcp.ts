import type { McpServer } from "../core/agent.ts";
import type { RootSettings } from "./schema.ts";

/** What perch.yaml says of a server of tools, as the agents that name it have it. The schema gives either of the two. */
export function mcpServer(name: string, written: RootSettings["mcp"][string]): McpServer | undefined {
  const { command, args, env, url, headers, timeoutSeconds } = written;
  if (command !== undefined) return { name, timeoutSeconds, use: "stdio", command, args, env };
  return url === undefined ? undefined : { name, timeoutSeconds, use: "http", url, headers };
}
