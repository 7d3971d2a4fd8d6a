import { systemClock } from "../../dist/src/core/clock.js";
import { inChildren } from "../../dist/src/media/children.js";

// A parent to be killed: tells its child's number, then gives it the work that the first argument names.

const log = { debug() {}, info() {}, warn() {}, error() {}, with: () => log };
const workshop = inChildren({
  entry: new URL("./hostile-worker.mjs", import.meta.url),
  blobsFolder: "nowhere",
  workSeconds: 600,
  path: process.env.PATH,
  clock: systemClock,
  log,
});
const { signal } = new AbortController();
const { pid } = await workshop.run("image", { do: "describe" }, signal);
const working = workshop.run("image", { do: process.argv[2] }, signal);
process.send(pid);
await working;
