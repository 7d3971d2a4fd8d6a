import { workerData } from "node:worker_threads";
import { systemClock } from "../core/clock.ts";
import { endGroup } from "./serve.ts";

// A thread beside the jobs of a child process, which goes on when they hang: it ends the process when its parent is gone
// or when it uses more memory than any honest file needs.

const LOOK_MS = 50;
const RESIDENT_BYTES = 800_000_000; // a picture of 50 megapixels takes 250 to 450 MB
const parent = Number(workerData);

look();

function look(): void {
  if (process.ppid !== parent || process.memoryUsage.rss() > RESIDENT_BYTES) endGroup();
  systemClock.after(LOOK_MS, look);
}
