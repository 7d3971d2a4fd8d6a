import { spawn } from "node:child_process";
import { dirname } from "node:path";
import type { Transcriber } from "../core/agent.ts";
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
  const [program, ...args] = command;
  const child = spawn(
    program,
    args.map((argument) => argument.replaceAll("{file}", () => wav)),
    // A group of its own, so that what it starts can be ended with it.
    { cwd: dirname(wav), env: environment, detached: true, stdio: ["ignore", "pipe", "ignore"] },
  );
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
      child.on("error", (error) =>
        resolve({ failed: `the program does not start (${"code" in error ? String(error.code) : "fault"})` }),
      );
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

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
