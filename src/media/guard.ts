import { readFileSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { systemClock } from "../core/clock.ts";
import { endGroup } from "./serve.ts";

// A thread beside the jobs of a child process, which goes on when they hang: it ends the process when its parent is gone
// or when it uses more memory than any honest file needs, with what the programs use that it has started.

const LOOK_MS = 50;
const RESIDENT_BYTES = 800_000_000; // a picture of 50 megapixels takes 250 to 450 MB
const parent = Number(workerData);

look();

function look(): void {
  if (process.ppid !== parent || residentBytes() > RESIDENT_BYTES) endGroup();
  systemClock.after(LOOK_MS, look);
}

/** Of this process and its programs; of itself alone where the system has no /proc. */
function residentBytes(): number {
  const programs = told(`/proc/${process.pid}/task/${process.pid}/children`).match(/\d+/g) ?? [];
  return programs.reduce((bytes, pid) => bytes + residentOf(pid), process.memoryUsage.rss());
}

function residentOf(pid: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(told(`/proc/${pid}/status`))?.[1] ?? 0) * 1_024;
}

function told(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // it has ended
  }
}
