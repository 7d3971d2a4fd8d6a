import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { type Json, MESSAGE_BYTES, type Wire } from "../../src/core/wire.ts";
import { Redis } from "../../src/dispatch/redis.ts";
import { inProcessWire } from "../../src/dispatch/wire-in-process.ts";
import { redisWire } from "../../src/dispatch/wire-redis.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { NO_OWN_REDIS, NO_REDIS, ownRedis, startRedis, type TestRedis } from "../support/redis.ts";

type Opened = { readonly wire: Wire; readonly logged: readonly LoggedLine[] };

function wireContract(open: () => Promise<Opened>): void {
  it("hands a message to each subscriber of its topic, as a copy and not at once", async () => {
    const { wire } = await open();
    const heard: Json[] = [];
    wire.subscribe("stop", (message) => heard.push(["one", message]));
    wire.subscribe("stop", (message) => heard.push(["other", message]));
    wire.subscribe("draft", (message) => heard.push(message));
    const message = { chat: 12, why: null };
    wire.publish("stop", message);
    expect(heard).toEqual([]);
    await expect.poll(() => heard.length).toBe(2);
    expect(heard).toEqual([
      ["one", { chat: 12, why: null }],
      ["other", { chat: 12, why: null }],
    ]);
  });

  it("ends a subscription alone", async () => {
    const { wire } = await open();
    const heard: Json[] = [];
    const handler = (message: Json): void => void heard.push(message);
    const end = wire.subscribe("stop", handler);
    wire.subscribe("stop", handler);
    end();
    end();
    wire.publish("stop", 1);
    wire.publish("stop", 2);
    await expect.poll(() => heard).toEqual([1, 2]);
  });

  it("logs what a subscriber throws, and the others hear it all the same", async () => {
    const { wire, logged } = await open();
    const heard: Json[] = [];
    wire.subscribe("stop", () => {
      throw new Error("no");
    });
    wire.subscribe("stop", (message) => heard.push(message));
    wire.publish("stop", 1);
    await expect.poll(() => heard).toEqual([1]);
    expect(logged.map(({ level, fields }) => [level, fields["topic"]])).toEqual([["error", "stop"]]);
  });

  it("leaves out what is too large, and says so without a word of it", async () => {
    const { wire, logged } = await open();
    const heard: Json[] = [];
    wire.subscribe("draft", (message) => heard.push(message));
    wire.publish("draft", "ü".repeat(MESSAGE_BYTES / 2));
    wire.publish("draft", "ü".repeat(MESSAGE_BYTES / 2 - 1));
    await expect.poll(() => heard.length).toBe(1);
    expect(logged).toEqual([
      {
        level: "warn",
        fields: { topic: "draft", bytes: MESSAGE_BYTES + 2, mostBytes: MESSAGE_BYTES },
        sentence: "a message between processes is too large and was left out",
      },
    ]);
  });

  it("hands nothing over once it is closed", async () => {
    const { wire } = await open();
    const heard: Json[] = [];
    wire.subscribe("stop", (message) => heard.push(message));
    await wire.close();
    wire.publish("stop", 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toEqual([]);
  });
}

describe("the wire in process", () => {
  wireContract(async () => {
    const logged: LoggedLine[] = [];
    return { wire: inProcessWire(memoryLog(logged)), logged };
  });
});

async function onRedis(server: TestRedis) {
  const logged: LoggedLine[] = [];
  const log = memoryLog(logged);
  const redis = new Redis({ url: server.url, prefix: server.prefix, clock: systemClock, log });
  await redis.connection.connect();
  const wire = redisWire(redis, log);
  onTestFinished(async () => {
    await wire.close();
    redis.close();
  });
  return { wire, logged, redis };
}

describe.skipIf(NO_REDIS)("the wire on Redis", () => {
  wireContract(async () => {
    const server = await startRedis();
    onTestFinished(() => server.close());
    return await onRedis(server);
  });
});

describe.skipIf(NO_OWN_REDIS)("the wire between processes", () => {
  it("reaches all of them once, in order, and again after Redis was away", async () => {
    const server = await ownRedis();
    onTestFinished(() => server.close());
    const [one, other] = [await onRedis(server), await onRedis(server)];
    const heard: Json[] = [];
    const own: Json[] = [];
    other.wire.subscribe("stop", (message) => heard.push(message));
    one.wire.subscribe("stop", (message) => own.push(message));
    await expect.poll(() => server.run("PUBSUB", "NUMSUB", `${server.prefix}:wire:stop`)).toContain(2);
    for (let count = 0; count < 5; count += 1) one.wire.publish("stop", count);
    await expect.poll(() => heard).toEqual([0, 1, 2, 3, 4]);
    await server.kill();
    await expect.poll(() => one.redis.isReady).toBe(false);
    one.wire.publish("stop", "lost");
    await expect.poll(() => own.at(-1)).toBe("lost");
    await server.start();
    await expect
      .poll(() => server.run("PUBSUB", "NUMSUB", `${server.prefix}:wire:stop`), { timeout: 5_000 })
      .toContain(2);
    await expect
      .poll(
        () => {
          one.wire.publish("stop", "back");
          return heard.at(-1);
        },
        { timeout: 5_000 },
      )
      .toBe("back");
    expect(heard.slice(0, 6)).toEqual([0, 1, 2, 3, 4, "back"]);
  });
});
