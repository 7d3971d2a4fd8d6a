import { afterAll, beforeAll, describe, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { bullmq } from "../../src/dispatch/bullmq.ts";
import { Redis } from "../../src/dispatch/redis.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { NO_REDIS, startRedis, type TestRedis } from "../support/redis.ts";
import { dispatcherContract } from "./contract.ts";

describe.skipIf(NO_REDIS)("the dispatcher on BullMQ", () => {
  let server: TestRedis;
  let tests = 0;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.close());

  dispatcherContract(async (works) => {
    const logged: LoggedLine[] = [];
    const log = memoryLog(logged);
    const prefix = `${server.prefix}:${(tests += 1)}`;
    const redis = new Redis({ url: server.url, prefix, clock: systemClock, log });
    const dispatcher = bullmq(redis)(works, systemClock, log);
    onTestFinished(async () => {
      await dispatcher.close();
      redis.close();
    });
    await redis.connection.connect();
    return { dispatcher, logged };
  });
});
