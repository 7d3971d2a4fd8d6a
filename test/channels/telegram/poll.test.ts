import { afterEach, describe, expect, it } from "vitest";
import { ALLOWED } from "../../../channels/telegram/inbound.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { sample } from "./fixtures.ts";
import {
  type Receiving,
  type ReceivingOptions,
  startReceiving,
  untilFailed,
  untilPolled,
} from "./receiving.ts";
import { MIRA, until } from "./set-up.ts";

const open: Receiving[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function setUp(options: ReceivingOptions = {}): Promise<Receiving> {
  const at = await startReceiving(options);
  open.push(at);
  return at;
}

function faulty(method: string, fault: Fault, times = 1): ReceivingOptions {
  return { before: (emulator) => void emulator.fault({ method, times }, fault) };
}

const SILENCE: Fault = { kind: "silence", when: "before" };
const BREAK: Fault = { kind: "drop", when: "before" };

describe("polling", () => {
  it("asks for what is read, up to a hundred, and waits 30 s for it", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    expect(at.calls("getUpdates")[0]?.parameters).toEqual({
      offset: 0,
      limit: 100,
      timeout: 30,
      allowed_updates: ALLOWED,
    });
    expect(ALLOWED).toContain("callback_query");
    await at.clock.advance(30_000);
    await untilPolled(at, 2);
    expect(at.host.logged).toEqual([]);
  });

  it("commits a batch, in order, before it asks for what comes after", async () => {
    const at = await setUp();
    const store = gate();
    at.host.beforeAccept(() => store.opened);
    await untilPolled(at, 1);
    at.mira.sendText("one");
    at.mira.sendText("two");
    await until(() => at.host.accepts() === 1);
    const [first, second] = at.emulator.pending();
    expect(at.calls("getUpdates")).toHaveLength(1);
    store.open();
    await untilPolled(at, 2);
    expect(at.host.accepted).toMatchObject(
      [first, second].map((update) => ({ id: String(update?.message?.message_id) })),
    );
    expect(at.calls("getUpdates")[1]?.parameters["offset"]).toBe((second?.update_id ?? 0) + 1);
    expect(at.emulator.pending()).toEqual([]);
  });

  it("begins after a restart behind what was committed last", async () => {
    const first = await setUp();
    await untilPolled(first, 1);
    first.mira.sendText("before");
    const update = first.emulator.pending()[0];
    await untilPolled(first, 2);
    await first.stop();
    const { emulator, clock } = first;
    const second = await setUp({ emulator, clock, state: first.host.host.state });
    await untilPolled(second, 3);
    expect(second.calls("getUpdates")[2]?.parameters["offset"]).toBe((update?.update_id ?? 0) + 1);
  });

  it("takes in once what Telegram hands over again under another number", async () => {
    const at = await setUp();
    const message = { ...sample("text_private").message, date: Math.floor(at.clock.now() / 1000) };
    at.emulator.inject({ message: message as never }); // a sample with another date
    at.emulator.inject({ message: message as never });
    await until(() => at.calls("getUpdates").length === 2);
    expect(at.host.accepted).toMatchObject([{ id: "41" }]);
  });

  it("asks for the same again, after a wait, while nothing can be stored", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    at.host.refuse(new GatewayError("store.unavailable", "the disk is full"));
    at.mira.sendText("do not lose this");
    await until(() => at.host.accepts() === 1 && at.timers() === 2);
    await at.clock.advance(1_000);
    await until(() => at.host.accepts() === 2 && at.timers() === 2);
    await at.clock.advance(1_999);
    expect(at.host.accepts()).toBe(2);
    at.host.refuse(undefined);
    await at.clock.advance(1);
    await at.host.whenAccepted(1);
    const offsets = at.calls("getUpdates").map(({ parameters }) => parameters["offset"]);
    expect(offsets.slice(0, 3)).toEqual([0, 0, 0]);
  });

  it("leaves out an update that breaks the reading of it, and takes in those around it", async () => {
    const at = await setUp();
    await untilPolled(at, 1);
    const broken = {
      ...sample("photo_with_caption").message,
      date: Math.floor(at.clock.now() / 1000),
      photo: 5,
    };
    at.mira.sendText("before");
    at.emulator.inject({ message: broken as never }); // as no Bot API of today would send it
    at.mira.sendText("after");
    await at.host.whenAccepted(2);
    expect(at.host.logged.map(({ sentence }) => sentence)).toEqual([
      "an update that cannot be read is left out",
    ]);
  });
});

describe("a poll that fails", () => {
  it.each([
    ["getMe", 401, "it was revoked or mistyped"],
    ["getUpdates", 401, "it was revoked or mistyped"],
    ["getMe", 404, "it is no token, or apiRoot is no Bot API"],
  ])("ends with a sentence when %s answers %i", async (method, code, why) => {
    const at = await setUp(faulty(method, { kind: "refuse", code, description: "Unauthorized" }, 9));
    await until(() => at.host.failures.length === 1 && at.timers() === 0);
    await at.clock.advance(3_600_000);
    expect(at.calls(method)).toHaveLength(1);
    expect(at.host.failures).toMatchObject([
      {
        code: "channel.refused",
        message: `Telegram does not accept the token of the channel “family” (${code}): ${why}; set channels.family.token to what @BotFather shows under /mybots`,
      },
    ]);
  });

  it.each<[string, Fault, number]>([
    ["a wait that Telegram asks for", { kind: "rateLimit", seconds: 23 }, 23_000],
    [
      "a restart of Telegram",
      { kind: "refuse", code: 500, description: "Internal Server Error: restart" },
      1_000,
    ],
    ["an edge that speaks HTML", { kind: "html", status: 502, when: "before" }, 1_000],
    ["an edge that says in HTML that there is nothing", { kind: "html", status: 404, when: "before" }, 1_000],
    [
      "a server that knows this bot elsewhere",
      { kind: "refuse", code: 421, description: "Misdirected" },
      1_000,
    ],
    ["a connection that breaks", BREAK, 1_000],
    ["an answer that breaks off", { kind: "cut" }, 1_000],
    ["half an answer", { kind: "truncate" }, 1_000],
  ])("waits out %s", async (_what, fault, waitMs) => {
    const at = await setUp();
    await untilPolled(at, 1);
    at.emulator.fault({ method: "getUpdates" }, fault);
    await at.clock.advance(30_000);
    await until(() => at.calls("getUpdates").length === 2);
    at.mira.sendText("hello");
    await untilFailed(at, 1);
    await at.clock.advance(waitMs - 1);
    expect([at.calls("getUpdates").length, at.host.accepted.length]).toEqual([2, 0]);
    await at.clock.advance(1);
    await at.host.whenAccepted(1);
  });

  it("grows its waits to 30 s while the network is down, and tells of it after eight tries", async () => {
    const at = await setUp(faulty("getUpdates", BREAK, 9));
    for (const [count, seconds] of [1, 2, 4, 8, 16, 30, 30, 30].entries()) {
      await untilFailed(at, count + 1);
      expect(at.host.failures).toHaveLength(count < 7 ? 0 : 1);
      await at.clock.advance(seconds * 1000 - 1);
      expect(at.calls("getUpdates")).toHaveLength(count + 1);
      await at.clock.advance(1);
    }
    await untilFailed(at, 9);
    await at.clock.advance(30_000);
    at.mira.sendText("hello");
    await at.host.whenAccepted(1);
    expect(at.host.failures).toMatchObject([
      {
        code: "channel.unreachable",
        message: "receiving from Telegram fails: the connection to Telegram broke: socket hang up",
      },
    ]);
    expect(at.host.recoveries).toEqual([1]);
  });

  it("is given up 15 s after its end when no answer comes, and a send passes by it meanwhile", async () => {
    const at = await setUp(faulty("getUpdates", SILENCE));
    await untilPolled(at, 1);
    await at.api.sendMessage({ chat_id: MIRA.id, text: "passes" });
    await at.clock.advance(44_999);
    expect(at.host.logged).toEqual([]);
    await at.clock.advance(1);
    await untilFailed(at, 1);
    await at.clock.advance(1_000);
    await untilPolled(at, 2);
    at.mira.sendText("hello");
    await at.host.whenAccepted(1);
  });

  it("is made again when Telegram comes up after Perch", async () => {
    const at = await setUp(faulty("getMe", BREAK, 2));
    await untilFailed(at, 1);
    await at.clock.advance(1_000);
    await untilFailed(at, 2);
    await at.clock.advance(2_000);
    await untilPolled(at, 1);
    at.mira.sendText("hello");
    expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "hello" }] }]);
    expect(at.known).toMatchObject([{ username: "fern_demo_bot" }]);
  });
});

describe("the end of polling", () => {
  it("breaks off the poll that waits and leaves no connection behind", async () => {
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
    const before = sockets();
    const at = await setUp();
    await untilPolled(at, 1);
    await at.api.sendMessage({ chat_id: MIRA.id, text: "hello" });
    expect(sockets()).toBeGreaterThan(before);
    await at.stop();
    await until(() => sockets() === before);
    expect(at.timers()).toBe(0);
  });

  it("finishes the batch that is being committed", async () => {
    const at = await setUp();
    const store = gate();
    at.host.beforeAccept(() => store.opened);
    await untilPolled(at, 1);
    at.mira.sendText("one");
    await until(() => at.host.accepts() === 1);
    const stopping = at.stop();
    store.open();
    await stopping;
    expect(at.host.accepted).toHaveLength(1);
    expect((await at.host.host.state.get(["offset"])).get("offset")).toBe(
      String((at.emulator.pending()[0]?.update_id ?? 0) + 1),
    );
  });

  it("does not wait for the end of a pause", async () => {
    const at = await setUp(faulty("getUpdates", BREAK));
    await untilFailed(at, 1);
    await at.stop();
    expect(at.timers()).toBe(0);
  });
});

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let pass!: () => void; // the executor runs before this function returns
  const opened = new Promise<void>((resolve) => (pass = resolve));
  return { opened, open: () => pass() };
}
