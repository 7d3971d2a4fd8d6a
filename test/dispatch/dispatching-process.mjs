import { systemClock } from "../../dist/src/core/clock.js";
import { bullmq } from "../../dist/src/dispatch/bullmq.js";
import { Redis } from "../../dist/src/dispatch/redis.js";
import { redisWire } from "../../dist/src/dispatch/wire-redis.js";

// A process with a dispatcher and a wire: tells when a run begins and ends, and ends by itself once all is closed.

const [url, prefix] = process.argv.slice(2);
const log = { debug() {}, info() {}, warn() {}, error() {}, with: () => log };
const redis = new Redis({ url, prefix, clock: systemClock, log });
const wire = redisWire(redis, log);
const now = () => performance.timeOrigin + performance.now();

const turn = {
  concurrency: 4,
  async run(key) {
    process.send({ began: key, at: now() });
    if (key === "endless") await new Promise(() => {});
    await new Promise((resolve) => setTimeout(resolve, 3));
    process.send({ ended: key, at: now() });
  },
};
const dispatcher = bullmq(redis, { lockMs: 1_000, stalledMs: 300 })({ turn }, systemClock, log);

wire.subscribe("said", (message) => process.send({ heard: message }));
process.on("message", ({ wake, say, close }) => {
  for (const key of wake ?? []) dispatcher.wake("turn", key, Date.now());
  if (say) wire.publish("said", say);
  if (close) void end();
});

async function end() {
  await dispatcher.close();
  await wire.close();
  redis.close();
  process.disconnect();
}

await redis.connection.connect();
process.send({ ready: true });
