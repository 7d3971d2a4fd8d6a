import { type ChildProcessByStdio, spawn } from "node:child_process";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import type { Transcriber } from "../core/agent.ts";
import { systemCode } from "../core/errors.ts";
import type { Programs } from "./programs.ts";
import type { Asked } from "./recording.ts";

const MOST_BYTES = 4_000_000;

/**
 * Runs the operator's program on a WAV, without a shell; what it writes is the transcript. It ends with all that it has
 * started when it stops being waited for. Never rejects.
 */
export async function askCommand(
  { command }: Transcriber & { readonly use: "command" },
  wav: string,
  { environment }: Pick<Programs, "environment">,
  stop: AbortSignal,
): Promise<Asked> {
  const [program, ...given] = command;
  const args = given.map((argument) => argument.replaceAll("{file}", () => wav));
  let child: ChildProcessByStdio<null, Readable, null>;
  try {
    child = start(program, args, { cwd: dirname(wav), env: environment });
  } catch (error) {
    return notStarted(error);
  }
  const endAll = (): void => endGroup(child.pid);
  stop.addEventListener("abort", endAll, { once: true });
  try {
    return await new Promise<Asked>((resolve) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      child.stdout.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= MOST_BYTES) chunks.push(chunk);
        else endAll();
      });
      child.on("error", (error) => resolve(notStarted(error)));
      // What it leaves running would keep its output open.
      child.on("exit", endAll);
      child.on("close", (code, signal) => {
        if (bytes > MOST_BYTES) resolve({ failed: "the program wrote more than 4 MB" });
        else if (code === 0) resolve({ said: Buffer.concat(chunks).toString("utf8") });
        else resolve({ failed: `the program ended with ${code ?? signal ?? "a fault"}`, again: {} });
      });
      if (stop.aborted) endAll();
    });
  } finally {
    stop.removeEventListener("abort", endAll);
  }
}

/** In a group of its own, so that what it starts can be ended with it. Some faults are thrown, others are events. */
function start(
  program: string,
  args: readonly string[],
  within: { readonly cwd: string; readonly env: Programs["environment"] },
): ChildProcessByStdio<null, Readable, null> {
  return spawn(program, args, { ...within, detached: true, stdio: ["ignore", "pipe", "ignore"] });
}

function notStarted(error: unknown): Asked {
  return { failed: `the program does not start (${systemCode(error) ?? "fault"})` };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
