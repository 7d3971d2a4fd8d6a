import type { AgentDefinition } from "../../core/agent.ts";
import type { BuildPorts } from "../built.ts";
import type { Kit } from "../kit.ts";
import { findSandbox } from "./sandbox.ts";
import { shellTool } from "./shell-tool.ts";

/** Without a sandbox there is no shell: commands are never run as what Perch itself is. */
export async function shellKit(
  { name: agent }: Pick<AgentDefinition, "name">,
  { path = "", clock, log }: Pick<BuildPorts, "path" | "clock" | "log">,
): Promise<Kit> {
  const sandbox = await findSandbox(path, clock).catch(() => undefined);
  if (sandbox !== undefined) return { tools: [shellTool(sandbox, { agent, clock, log })], prompt: "" };
  log.warn(
    { agent },
    "an agent has no shell: bubblewrap (bwrap 0.8 or newer) is not there, or this machine forbids it namespaces",
  );
  return { tools: [], prompt: "", unavailable: ["shell"] };
}
