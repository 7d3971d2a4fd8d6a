import type { AgentDefinition, McpServer } from "../../core/agent.ts";
import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import { ToolServer } from "./tool-server.ts";

/** All servers of tools of a process: agents that name the same one have the same connection. */
export class ToolServers {
  readonly #ports: { readonly clock: Clock; readonly log: Log };
  readonly #open = new Map<string, ToolServer>();

  constructor(ports: { readonly clock: Clock; readonly log: Log }) {
    this.#ports = ports;
  }

  of(definition: Pick<AgentDefinition, "mcp">): readonly ToolServer[] {
    return (definition.mcp ?? []).map((server) => {
      const key = keyOf(server);
      const open = this.#open.get(key) ?? new ToolServer(server, this.#ports);
      this.#open.set(key, open);
      return open;
    });
  }

  /** Ends those that none of these agents has, as after a change of the configuration. */
  async keep(agents: Iterable<Pick<AgentDefinition, "mcp">>): Promise<void> {
    const wanted = new Set([...agents].flatMap(({ mcp = [] }) => mcp.map(keyOf)));
    const gone = [...this.#open].filter(([key]) => !wanted.has(key));
    for (const [key] of gone) this.#open.delete(key);
    await Promise.all(gone.map(([, server]) => server.close()));
  }

  async close(): Promise<void> {
    await this.keep([]);
  }
}

function keyOf(server: McpServer): string {
  return JSON.stringify(server);
}
