import { join } from "node:path";
import type { McpServer } from "../../../src/core/agent.ts";

/** The server of `server.mjs`, whose head says what its environment may hold. */
export function stdioTools(
  env: Readonly<Record<string, string>> = {},
  name = "tools",
  timeoutSeconds = 20,
): McpServer {
  return {
    use: "stdio",
    name,
    timeoutSeconds,
    command: process.execPath,
    args: [join(import.meta.dirname, "server.mjs")],
    env,
  };
}
