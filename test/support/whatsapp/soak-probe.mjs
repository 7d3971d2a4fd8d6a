// Loaded before Perch in a soak test, with --expose-gc: at each SIGUSR2 it prints what the process holds, as one line of JSON.
import { EventEmitter } from "node:events";

/** The library's own emitters, of the connection that was heard of last. */
const heard = new Map();
const emit = EventEmitter.prototype.emit;
EventEmitter.prototype.emit = function (name, ...rest) {
  if (name === "frame" || name === "event") heard.set(name, new WeakRef(this));
  return emit.call(this, name, ...rest);
};

function listenersOf(emitter) {
  return emitter ? emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0) : 0;
}

function countOf(names) {
  const counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** What the collector has freed goes back to the system a little later. */
const GIVEN_BACK_MS = 500;

process.on("SIGUSR2", () => {
  globalThis.gc();
  setTimeout(() => {
    globalThis.gc();
    const { rss, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const held = {
      rss,
      heapUsed,
      external,
      cpuMs: Math.round((user + system) / 1_000),
      listeners: {
        process: listenersOf(process),
        socket: listenersOf(heard.get("frame")?.deref()),
        events: listenersOf(heard.get("event")?.deref()),
      },
      handles: countOf(process.getActiveResourcesInfo()),
    };
    process.stdout.write(`HELD ${JSON.stringify(held)}\n`);
  }, GIVEN_BACK_MS);
});
