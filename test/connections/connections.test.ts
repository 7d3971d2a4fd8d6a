import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { Connections } from "../../src/connections.ts";
import type { Channel, ChannelKind } from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import type { Role } from "../../src/core/role.ts";
import { NO_STUDIO } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";
import { testGateway, type TestGateway } from "../support/gateway.ts";

const opened: TestGateway[] = [];

afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

/** Connections of the toy platform, whose channels close as the test says. */
async function setUp(close: (channel: Channel, test: TestGateway) => Promise<void>) {
  const clock = manualClock();
  const test = await testGateway({ clock });
  opened.push(test);
  const kind: ChannelKind<unknown> = {
    ...test.kind,
    open: async (_settings, host) => {
      const channel = await test.kind.open({}, host);
      return { ...channel, close: () => close(channel, test) };
    },
  };
  /** Connections of the same gateway, of another kind. */
  const connectionsOf = (load: () => Promise<ChannelKind<unknown>>, role?: Role): Connections =>
    new Connections({
      gateway: test.gateway,
      database: test.database,
      blobs: test.blobs,
      dataFolder: test.folder,
      studio: NO_STUDIO,
      http: test.host.http,
      clock,
      log: test.host.log,
      owner: "test",
      ...(role === undefined ? {} : { shared: { role } }),
      kind: load,
    });
  const connections = connectionsOf(() => Promise.resolve(kind));
  await connections.open("toy", TOY);
  return { ...test, clock, connections, connectionsOf };
}

const TOY = { kind: "toy", settings: {} };

describe("a connection that is closed", () => {
  it("has a command answered that it takes in at its very end", async () => {
    const { connections, platform, clock } = await setUp(async (channel, test) => {
      await test.platform.say("c1", "/stop");
      await channel.close();
    });
    await connections.close("toy");
    await connections.open("toy", TOY);
    await clock.advance(0);
    expect(platform.textsIn("c1")).toEqual(["Nothing is running."]);
  });

  it("is left behind when it does not end, and can be opened again", async () => {
    let closes = 0;
    const { connections, platform, clock, logged } = await setUp(async (channel) => {
      closes += 1;
      await (closes === 1 ? new Promise(() => {}) : channel.close());
    });
    const closed = connections.close("toy");
    await clock.advance(5_000);
    await closed;
    await connections.open("toy", TOY);
    await platform.say("c1", "hello", { whole: true });
    await clock.advance(0);
    expect(platform.textsIn("c1")).toEqual(["heard: hello"]);
    expect(logged.map(({ sentence }) => sentence)).toContain(
      "a connection did not close within 5 s and is left behind",
    );
  });
});

describe("a connection that cannot be opened", () => {
  it("is tried again until it can, unless it is closed", async () => {
    const { connections, connectionsOf, platform, clock, kind } = await setUp((channel) => channel.close());
    await connections.close("toy");
    let tries = 0;
    // Opening makes a folder, which takes real time: the test waits for it rather than for the clock.
    let connected = (): void => {};
    const isConnected = new Promise<void>((resolve) => (connected = resolve));
    const telling: ChannelKind<unknown> = {
      ...kind,
      open: async (_settings, to) => {
        const channel = await kind.open({}, to);
        connected();
        return channel;
      },
    };
    const failing = connectionsOf(() => {
      tries += 1;
      return tries < 3 ? Promise.reject(new Error("the disk is full")) : Promise.resolve(telling);
    });
    await failing.open("toy", TOY);
    expect(failing.faults.get("toy")).toBe("the disk is full");
    await clock.advance(30_000);
    expect([tries, failing.faults.size]).toEqual([2, 1]);
    await clock.advance(30_000);
    await isConnected;
    await platform.say("c1", "hello", { whole: true });
    await clock.advance(0);
    expect([platform.textsIn("c1"), failing.faults.size]).toEqual([["heard: hello"], 0]);
    tries = 0;
    await failing.close("toy");
    await failing.open("toy", TOY);
    await failing.close("toy");
    await clock.advance(300_000);
    expect(tries).toBe(1);
  });
});

describe("where a connection stands", () => {
  it("is stopped once it could not be opened, whatever it said before", async () => {
    const { connections, connectionsOf, kind } = await setUp((channel) => channel.close());
    await connections.close("toy");
    const failing = connectionsOf(async () => ({
      ...kind,
      open: async (_settings, host) => {
        host.stands({ is: "connecting" });
        throw new Error("the path is taken");
      },
    }));
    await failing.open("toy", TOY);
    expect(failing.list(new Map([["toy", TOY]]))).toMatchObject([{ is: "stopped" }]);
    await failing.close("toy");
  });
});

describe("what a connection is handed", () => {
  it("is one process's to have a lease of, and a journal in its own folder that outlives it", async () => {
    const test = await testGateway({ clock: manualClock() });
    opened.push(test);
    const hosts: ChannelHost[] = [];
    const kind: ChannelKind<unknown> = {
      ...test.kind,
      open: async (_settings, host) => {
        hosts.push(host);
        return await test.kind.open({}, host);
      },
    };
    for (const owner of ["this process", "another"]) {
      const connections = new Connections({
        gateway: test.gateway,
        database: test.database,
        blobs: test.blobs,
        dataFolder: test.folder,
        studio: NO_STUDIO,
        http: test.host.http,
        clock: test.host.clock,
        log: test.host.log,
        owner,
        kind: () => Promise.resolve(kind),
      });
      await connections.open("toy", TOY);
    }
    const leases = [];
    for (const host of hosts) leases.push(await host.state.lease(60_000));
    expect(leases.map((lease) => lease?.epoch)).toEqual([1, undefined]);
    const journal = hosts[0]!.journal();
    journal.write({ a: Buffer.from([1]) });
    journal.close();
    const again = hosts[0]!.journal();
    expect(again.read("a")).toEqual(Buffer.from([1]));
    again.close();
    expect((await stat(join(test.folder, "channels/toy/journal.db"))).isFile()).toBe(true);
  });
});

describe("a connection that several processes take in at", () => {
  /** Processes of one database, each of which says by whom a piece goes. */
  async function together() {
    const clock = manualClock();
    const test = await testGateway({ clock });
    opened.push(test);
    const sentBy: string[] = [];
    const hosts = new Map<string, ChannelHost>();
    // Opening makes a folder, which takes real time.
    const opening = new Map<string, () => void>();
    const isOpenBy = (owner: string): Promise<void> =>
      new Promise((resolve) => (hosts.has(owner) ? resolve() : opening.set(owner, resolve)));
    const closed: string[] = [];
    const process = (owner: string): Connections =>
      new Connections({
        gateway: test.gateway,
        database: test.database,
        blobs: test.blobs,
        dataFolder: test.folder,
        studio: NO_STUDIO,
        http: test.host.http,
        clock,
        log: test.host.log,
        owner,
        shared: { role: "web" },
        kind: async () => ({
          ...test.kind,
          single: () => false,
          async open(_settings, host) {
            hosts.set(owner, host);
            opening.get(owner)?.();
            const channel = await test.kind.open({}, host);
            return {
              ...channel,
              send(...piece) {
                sentBy.push(owner);
                return channel.send(...piece);
              },
              async close() {
                closed.push(owner);
                await channel.close();
              },
            };
          },
        }),
      });
    const later = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 1_000) await clock.advance(1_000);
    };
    return { ...test, clock, process, sentBy, hosts, isOpenBy, closed, later };
  }

  it("has one of them speak, and another when that ends", async () => {
    const { process, sentBy, hosts, platform, later } = await together();
    const [one, two] = [process("one"), process("two")];
    await one.open("toy", TOY);
    await two.open("toy", TOY);
    await platform.say("c1", "hello", { whole: true });
    await later(2_000);
    expect([platform.textsIn("c1"), sentBy]).toEqual([["heard: hello"], ["one"]]);
    await one.close("toy");
    platform.host = hosts.get("two");
    await platform.say("c1", "again", { whole: true });
    await later(15_000);
    expect([platform.textsIn("c1"), sentBy]).toEqual([
      ["heard: hello", "heard: again"],
      ["one", "two"],
    ]);
    await two.close("toy");
  });

  it("is closed at the end by who only took in, too", async () => {
    const { process, closed } = await together();
    const [one, two] = [process("one"), process("two")];
    await one.open("toy", TOY);
    await two.open("toy", TOY);
    two.stopTrying();
    await two.release();
    expect(closed).toEqual(["two"]);
    await one.close("toy");
  });

  it("is not renamed while another process goes by its old name", async () => {
    const { process, later, isOpenBy, database } = await together();
    const [one, two] = [process("one"), process("two")];
    await one.open("toy", TOY);
    await two.open("new", { ...TOY, was: "toy" });
    expect(two.faults.get("new")).toContain("another process goes by its old name, toy");
    await one.close("toy");
    await later(30_000);
    await isOpenBy("two");
    expect(two.faults.size).toBe(0);
    await two.close("new");
    expect(
      await database.db
        .selectFrom("channel_lease")
        .select("channel")
        .where("channel", "like", "open/%")
        .orderBy("channel")
        .execute(),
    ).toEqual([{ channel: "open/new" }, { channel: "open/toy" }]);
  });
});

describe("where connections stand in a process of several", () => {
  it("is elsewhere for those that it has not opened", async () => {
    const { connectionsOf } = await setUp((channel) => channel.close());
    const worker = connectionsOf(() => Promise.reject(new Error("a worker opens none")), "workers");
    expect(worker.list(new Map([["toy", TOY]]))).toMatchObject([{ id: "toy", is: "elsewhere" }]);
  });
});
