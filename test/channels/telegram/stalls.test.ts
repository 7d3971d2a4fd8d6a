import { Socket } from "node:net";
import { Api } from "grammy";
import { afterEach, describe, expect, it, vi } from "vitest";
import { poll } from "../../../channels/telegram/poll.ts";
import { openLine } from "../../../channels/telegram/transport.ts";
import { Updates } from "../../../channels/telegram/updates.ts";
import { testHost } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";
import { startTelegram } from "../../support/telegram/emulator.ts";
import { type Edge, relay } from "./edges.ts";
import {
  type Receiving,
  type ReceivingOptions,
  startReceiving,
  untilFailed,
  untilPolled,
} from "./receiving.ts";
import { until } from "./set-up.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  vi.restoreAllMocks();
});

async function setUp(options: ReceivingOptions = {}): Promise<Receiving> {
  const at = await startReceiving(options);
  cleanups.push(() => at.close());
  return at;
}

describe("the connection that polls go over", () => {
  it("is a new one after two failures in a row, while the one of sends stays", async () => {
    const ports: string[] = [];
    const clock = manualClock();
    const emulator = await startTelegram({ clock });
    const edge = await relay(emulator.apiRoot, ({ url = "", socket }) => {
      const method = url.slice(url.lastIndexOf("/") + 1);
      ports.push(`${method} ${socket.remotePort}`);
      return false;
    });
    cleanups.push(() => edge.close());
    const at = await setUp({ clock, emulator, settings: { apiRoot: edge.url } });
    await untilPolled(at, 1);
    // Answers that are no JSON leave the connection whole.
    emulator.fault({ method: "getUpdates", times: 3 }, { kind: "html", status: 502, when: "before" });
    await at.api.getMyCommands({});
    await clock.advance(30_000);
    for (const [count, waitMs] of [1_000, 2_000, 4_000].entries()) {
      await untilFailed(at, count + 1);
      await clock.advance(waitMs);
    }
    await untilPolled(at, 5);
    await at.api.getMyCommands({});
    const polls = ports.filter((line) => line.startsWith("getUpdates"));
    expect(polls.map((line) => polls.indexOf(line))).toEqual([0, 0, 0, 3, 3]);
    const sends = ports.filter((line) => line.startsWith("getMyCommands"));
    expect(sends[0]).toBe(sends[1]);
  });

  it("asks the system to notice when the other side is gone", async () => {
    const asked = vi.spyOn(Socket.prototype, "setKeepAlive");
    const at = await setUp();
    await untilPolled(at, 1);
    expect(asked).toHaveBeenCalledWith(true, 15_000);
  });
});

describe("the watchdog", () => {
  it("gives a poll up that nothing else ends, on a new connection, and tells until one ends again", async () => {
    const clock = manualClock();
    const emulator = await startTelegram({ clock });
    const host = await testHost({ clock, id: "family" });
    const line = await openLine(emulator.apiRoot);
    const renewed = vi.fn<() => void>(() => line.renew());
    const api = new Api(emulator.token, { apiRoot: emulator.apiRoot, fetch: line.fetch as never }).raw;
    let hung = 0;
    const hanging = new Proxy(api, {
      get: (real, name, self) =>
        name === "getUpdates" && (hung += 1) === 1
          ? () => new Promise(() => {})
          : Reflect.get(real, name, self),
    });
    const closing = new AbortController();
    const polling = poll({
      line: { ...line, renew: renewed },
      polling: hanging,
      api,
      updates: new Updates(host.host, api, { channelPosts: false }),
      host: host.host,
      closing: closing.signal,
      known: () => {},
      random: () => 0,
    });
    cleanups.push(async () => {
      closing.abort();
      await polling;
      await emulator.close();
      await host.close();
    });
    await until(() => hung === 1);
    await clock.advance(119_999);
    expect([host.failures.length, renewed.mock.calls.length]).toEqual([0, 0]);
    await clock.advance(1);
    expect(host.failures).toMatchObject([
      {
        code: "channel.unreachable",
        message: "nothing was taken in for 2 min: a poll, or the storing of one, hangs",
      },
    ]);
    expect(renewed).toHaveBeenCalledTimes(1);
    await clock.advance(1_000);
    emulator.privateChat({ id: 5, firstName: "Mira" }).sendText("hello");
    await host.whenAccepted(1);
    expect(host.recoveries).toEqual([1]);
  });

  it("tells of a batch that is stored for ever, and of its end", async () => {
    const at = await setUp();
    let pass: () => void = () => {};
    const stored = new Promise<void>((resolve) => (pass = resolve));
    at.host.beforeAccept(() => stored);
    await untilPolled(at, 1);
    at.mira.sendText("hello");
    await until(() => at.host.accepts() === 1);
    await at.clock.advance(120_000);
    expect(at.host.failures).toHaveLength(1);
    at.host.beforeAccept(undefined);
    pass();
    await untilPolled(at, 2);
    at.mira.sendText("again");
    await at.host.whenAccepted(2);
    expect(at.host.recoveries).toEqual([1]);
  });

  it("leaves long waits alone", async () => {
    const at = await setUp({
      before: (emulator) =>
        void emulator.fault({ method: "getUpdates" }, { kind: "rateLimit", seconds: 3_600 }),
    });
    await untilFailed(at, 1);
    await at.clock.advance(3_599_999);
    expect([at.host.failures, at.calls("getUpdates").length]).toEqual([[], 1]);
    await at.clock.advance(1);
    await untilPolled(at, 2);
  });
});

it.each([
  ["with nothing", 200, '{"ok":true,"result":[]}'],
  [
    "to come again at once",
    429,
    '{"ok":false,"error_code":429,"description":"","parameters":{"retry_after":0}}',
  ],
])("polls that something answers at once %s are a second apart", async (_how, status, body) => {
  const clock = manualClock();
  const emulator = await startTelegram({ clock });
  let asked = 0;
  const edge = await relay(emulator.apiRoot, ({ url = "" }, response) => {
    if (!url.endsWith("/getUpdates") || asked === 3) return false;
    asked += 1;
    response.writeHead(status).end(body);
    return true;
  });
  cleanups.push(() => edge.close());
  const at = await setUp({ clock, emulator, settings: { apiRoot: edge.url } });
  for (const count of [1, 2, 3]) {
    await until(() => asked === count && at.timers() === 2);
    await clock.advance(999);
    expect(asked).toBe(count);
    await clock.advance(1);
  }
  at.mira.sendText("hello");
  await at.host.whenAccepted(1);
});

describe("polls that bring nothing for a quarter of an hour", () => {
  let swallows = false;

  /** An edge that may answer polls itself, with nothing. */
  async function behindAnEdge(): Promise<Receiving & { readonly edge: Edge }> {
    swallows = false;
    const clock = manualClock();
    const emulator = await startTelegram({ clock });
    const edge = await relay(emulator.apiRoot, ({ url = "" }, response) => {
      if (!swallows || !url.endsWith("/getUpdates")) return false;
      clock.after(30_000, () => void response.end('{"ok":true,"result":[]}'));
      return true;
    });
    cleanups.push(() => edge.close());
    return { ...(await setUp({ clock, emulator, settings: { apiRoot: edge.url } })), edge };
  }

  function polls({ edge }: { readonly edge: Edge }): number {
    return edge.passed.filter((path) => path.endsWith("/getUpdates")).length;
  }

  /** So many polls later, each of which ends by itself. */
  async function idle(at: Receiving & { readonly edge: Edge }, times: number): Promise<void> {
    for (let round = 0; round < times; round += 1) {
      const before = polls(at);
      await until(() => at.timers() === 2);
      await at.clock.advance(30_000);
      await until(() => polls(at) > before && at.timers() === 2);
    }
  }

  it("have Telegram asked once whether something waits, and go on where nothing does", async () => {
    const at = await behindAnEdge();
    await until(() => polls(at) === 1);
    await idle(at, 29);
    expect(at.calls("getWebhookInfo")).toHaveLength(0);
    await idle(at, 2);
    expect(at.calls("getWebhookInfo")).toHaveLength(1);
    expect(at.host.failures).toEqual([]);
  });

  it("are a fault where something does, until it comes", async () => {
    const at = await behindAnEdge();
    await until(() => polls(at) === 1);
    swallows = true;
    await idle(at, 2);
    at.mira.sendText("one");
    at.mira.sendText("two");
    await idle(at, 30);
    expect(at.host.failures).toMatchObject([
      {
        code: "channel.unreachable",
        message:
          "Telegram says that 2 messages wait, and hands none over; look at what stands between Perch and Telegram",
      },
    ]);
    swallows = false;
    await at.clock.advance(30_000);
    await at.host.whenAccepted(2);
    expect(at.host.recoveries).toEqual([1]);
  });
});
