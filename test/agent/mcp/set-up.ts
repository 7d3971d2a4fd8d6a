import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ToolServer } from "../../../src/agent/mcp/tool-server.ts";
import type { McpServer } from "../../../src/core/agent.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { type LoggedLine, memoryLog } from "../../support/channel-host.ts";

export function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), "perch-mcp-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A server that is ended with its test, and what is logged of it. */
export function toolServer(
  server: McpServer,
  clock: Clock = systemClock,
): { readonly server: ToolServer; readonly lines: readonly LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const one = new ToolServer(server, { clock, log: memoryLog(lines) });
  onTestFinished(() => one.close());
  return { server: one, lines };
}

export function pidsIn(file: string): readonly number[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
