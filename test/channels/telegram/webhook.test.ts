import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { ALLOWED } from "../../../channels/telegram/inbound.ts";
import type { HttpMount } from "../../../src/core/host.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { InboundEvent } from "../../../src/core/events.ts";
import { startHttp } from "../../../src/http/server.ts";
import { type LoggedLine, memoryLog, memoryState, testHost } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";
import { startTelegram, type TelegramEmulator } from "../../support/telegram/emulator.ts";
import { relay } from "./edges.ts";
import { type Receiving, type ReceivingOptions, startReceiving } from "./receiving.ts";
import { MIRA, until } from "./set-up.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A bot whose webhook leads to the host's own web server. */
async function setUp(options: ReceivingOptions = {}): Promise<Receiving> {
  const at = await startReceiving({ settings: ({ http }) => ({ webhook: http.origin }), ...options });
  cleanups.push(() => at.close());
  return at;
}

/** Until the webhook is set and the next look at it is waited for. */
async function untilSet(at: Receiving, times = 1): Promise<void> {
  await until(() => at.calls("setWebhook").length === times && at.timers() === 1);
}

async function secretOf(at: Receiving): Promise<string> {
  return (await at.host.host.state.get(["webhookSecret"])).get("webhookSecret") ?? "";
}

async function deliver(at: Receiving, request: RequestInit): Promise<number> {
  const response = await fetch(`${at.host.http.origin}/telegram/family`, { method: "POST", ...request });
  expect(await response.text()).toBe("");
  return response.status;
}

function json(secret: string, body = '{"update_id":1}'): RequestInit {
  return { headers: { "x-telegram-bot-api-secret-token": secret, "content-type": "application/json" }, body };
}

describe("a webhook", () => {
  it("is set at the start, with a secret and the updates that are read, and brings what people say", async () => {
    const at = await setUp();
    await untilSet(at);
    const secret = await secretOf(at);
    expect(at.calls("setWebhook")[0]?.parameters).toEqual({
      url: `${at.host.http.origin}/telegram/family`,
      secret_token: secret,
      allowed_updates: ALLOWED,
    });
    expect(secret).toMatch(/^[\w-]{43}$/);
    at.mira.sendText("one");
    at.mira.sendText("two");
    const events = await at.host.whenAccepted(2);
    expect(events.map((event) => event.type === "message" && event.content)).toEqual([
      [{ type: "text", text: "one" }],
      [{ type: "text", text: "two" }],
    ]);
    await until(() => at.emulator.pending().length === 0);
    expect([at.calls("getUpdates"), at.host.logged]).toEqual([[], []]);
  });

  it("keeps its secret and its address over a restart, and stays set between the two", async () => {
    const first = await setUp();
    await untilSet(first);
    await first.stop();
    first.mira.sendText("meanwhile");
    expect(first.calls("deleteWebhook")).toEqual([]);
    const { emulator, clock, host } = first;
    const at = await setUp({
      emulator,
      clock,
      state: host.host.state,
      settings: { webhook: host.http.origin },
    });
    await untilSet(at, 2);
    const [one, two] = at.calls("setWebhook");
    expect(two?.parameters).toEqual(one?.parameters);
    // The address leads to the first host, which has taken its mount away.
    expect(await deliver(first, json(await secretOf(at))).catch(() => 404)).toBe(404);
    expect(emulator.pending()).toHaveLength(1);
  });

  it("answers pressed buttons after the commit", async () => {
    const answers = ([event]: readonly InboundEvent[]) => new Map(event ? [[event.id, "Noted"]] : []);
    const at = await setUp({ host: { answers } });
    await untilSet(at);
    const reply_markup = { inline_keyboard: [[{ text: "Yes", callback_data: "k1" }]] };
    const { message_id: question } = await at.api.sendMessage({ chat_id: MIRA.id, text: "?", reply_markup });
    const query = at.mira.press(question, "k1");
    await until(() => at.calls("answerCallbackQuery").length === 1);
    expect(at.calls("answerCallbackQuery")[0]?.parameters).toEqual({
      callback_query_id: query,
      text: "Noted",
    });
  });

  it("lets Telegram keep what cannot be stored, and takes it when it comes again", async () => {
    const at = await setUp();
    await untilSet(at);
    at.host.refuse(new GatewayError("store.unavailable", "the disk is full"));
    at.mira.sendText("do not lose this");
    await until(() => at.host.accepts() > 0);
    at.host.refuse(undefined);
    await at.clock.advance(4_000);
    await at.host.whenAccepted(1);
    await until(() => at.emulator.pending().length === 0);
    expect(at.host.accepted).toHaveLength(1);
    expect(new Set(at.host.logged.map(({ sentence }) => sentence))).toEqual(
      new Set(["a message could not be stored; Telegram hands it over again"]),
    );
  });

  it("commits the messages of a chat in their order when one is handed over twice at once", async () => {
    const at = await setUp();
    await untilSet(at);
    const secret = await secretOf(at);
    const order: string[] = [];
    let pass: () => void = () => {};
    const slow = new Promise<void>((resolve) => (pass = resolve));
    at.host.beforeAccept(async (event) => {
      if (at.host.accepts() === 1) await slow;
      if (event.type === "message") order.push(event.id);
    });
    const message = (id: number): string =>
      JSON.stringify({
        update_id: id,
        message: {
          message_id: id,
          date: 1_700_000_000,
          chat: { id: MIRA.id, type: "private", first_name: "Mira" },
          from: { id: MIRA.id, is_bot: false, first_name: "Mira" },
          text: `number ${id}`,
        },
      });
    // Telegram has waited a minute for the answer to 1, which still is being stored.
    const first = deliver(at, json(secret, message(1)));
    await until(() => at.host.accepts() === 1);
    const rest = [deliver(at, json(secret, message(1))), deliver(at, json(secret, message(2)))];
    await new Promise((resolve) => setImmediate(resolve));
    pass();
    expect(await Promise.all([first, ...rest])).toEqual([200, 200, 200]);
    expect(order).toEqual(["1", "1", "2"]);
  });

  it("finishes what is being stored when it is closed, and takes nothing in after that", async () => {
    const at = await setUp();
    await untilSet(at);
    const secret = await secretOf(at);
    let pass: () => void = () => {};
    const slow = new Promise<void>((resolve) => (pass = resolve));
    at.host.beforeAccept(() => slow);
    at.mira.sendText("one");
    await until(() => at.host.accepts() === 1);
    const stopping = at.stop();
    expect(await deliver(at, json(secret))).toBe(503);
    pass();
    await stopping;
    expect(at.host.accepted).toHaveLength(1);
    expect((await fetch(`${at.host.http.origin}/telegram/family`, { method: "POST" })).status).toBe(404);
    expect(at.timers()).toBe(0);
  });
});

describe("polling in the place of a webhook of ours", () => {
  it.each([
    ["that was set", undefined],
    ["of which we never heard whether it was set", { kind: "drop", when: "after" } as const],
  ])("takes away one %s, and brings what has waited", async (_what, fault) => {
    const before = (emulator: TelegramEmulator): void => {
      if (fault) emulator.fault({ method: "setWebhook" }, fault);
    };
    const first = await setUp({ before });
    await until(() => first.calls("setWebhook").length === 1 && first.timers() === 1);
    await first.stop();
    first.mira.sendText("meanwhile");
    const { emulator, clock, host } = first;
    const at = await setUp({ emulator, clock, state: host.host.state, settings: {} });
    expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "meanwhile" }] }]);
    expect(at.calls("deleteWebhook")).toHaveLength(1);
    expect(at.host.failures).toEqual([]);
  });
});

describe("what knocks at the webhook", () => {
  it("is turned away unless it is Telegram's JSON with the secret", async () => {
    const at = await setUp();
    await untilSet(at);
    const secret = await secretOf(at);
    const headers = { "x-telegram-bot-api-secret-token": secret };
    expect([
      await deliver(at, json("")),
      await deliver(at, json(secret.slice(1))),
      await deliver(at, { headers: { "content-type": "application/json" }, body: "{}" }),
      await deliver(at, { ...json(secret), method: "GET", body: null }),
      await deliver(at, { headers: { ...headers, "content-type": "text/plain" }, body: '{"update_id":1}' }),
      await deliver(at, json(secret, "{")),
      await deliver(at, json(secret, "[1]")),
      await deliver(at, json(secret, '{"update_id":"1"}')),
      await deliver(at, json(secret, JSON.stringify({ update_id: 1, padding: "x".repeat(1024 * 1024) }))),
      await deliver(at, json(secret)),
    ]).toEqual([401, 401, 401, 405, 415, 400, 400, 400, 413, 200]);
    expect(at.host.accepts()).toBe(0);
  });

  it("is asked to come again where it was still being read when the connection was closed", async () => {
    const logged: LoggedLine[] = [];
    const http = await startHttp({
      host: "127.0.0.1",
      port: 0,
      log: memoryLog(logged),
      health: () => ({ ok: true }),
    });
    cleanups.push(() => http.close());
    let arrived = 0;
    const mount: HttpMount["mount"] = (path, handler, how) =>
      http.mount(path, (request) => ((arrived += 1), handler(request)), how);
    const at = await setUp({ http: { ...http, mount }, settings: { webhook: http.origin } });
    await untilSet(at);
    const headers = {
      "x-telegram-bot-api-secret-token": await secretOf(at),
      "content-type": "application/json",
      "transfer-encoding": "chunked",
    };
    const { port } = new URL(http.origin);
    const [slow, broken] = [0, 1].map(() => {
      const request = httpRequest({ port, method: "POST", path: "/telegram/family", headers });
      request.on("error", () => {});
      request.write('{"update_id":');
      return request;
    });
    const status = new Promise((resolve) => slow?.on("response", (response) => resolve(response.statusCode)));
    await until(() => arrived === 2);
    // Of one that hangs up nothing is said.
    broken?.destroy();
    await at.stop();
    slow?.end("1}");
    expect(await status).toBe(503);
    expect(logged).toEqual([]);
  });

  it("has one secret in processes that begin at the same time, and know nothing of each other", async () => {
    const clock = manualClock();
    const emulator = await startTelegram({ clock });
    const settings = { webhook: "https://bot.example.org" };
    for (const times of [1, 2]) {
      const at = await setUp({ emulator, clock, settings });
      await untilSet(at, times);
      await at.stop();
    }
    const [one, two] = emulator.calls.filter(({ method }) => method === "setWebhook");
    expect(one?.parameters["secret_token"]).toBe(two?.parameters["secret_token"]);
    expect(await secretOf(await setUp({ emulator, clock, settings }))).not.toContain(emulator.token);
  });

  it("is asked to come again before Telegram has said who the bot is", async () => {
    const at = await setUp({
      state: memoryStateWith("webhookSecret", "s3cret"),
      before: (emulator) => void emulator.fault({ method: "getMe" }, { kind: "silence", when: "before" }),
    });
    await until(() => at.calls("getMe").length === 1);
    expect(await deliver(at, json("s3cret"))).toBe(503);
  });

  it("needs no password and may know the server by another name", async () => {
    const clock = manualClock();
    const emulator = await startTelegram({ clock });
    const http = await startHttp({
      host: "127.0.0.1",
      port: 0,
      password: "correct horse",
      log: memoryLog([]),
      health: () => ({ ok: true }),
    });
    cleanups.push(() => http.close());
    // Passes the name on that Telegram knows, as a reverse proxy does.
    const edge = await relay(http.origin, (request) => {
      request.headers.host = "bot.example.org";
      return false;
    });
    cleanups.push(() => edge.close());
    const at = await setUp({ emulator, clock, http, settings: { webhook: `${edge.url}/` } });
    await untilSet(at);
    at.mira.sendText("hello");
    expect(await at.host.whenAccepted(1)).toMatchObject([{ content: [{ text: "hello" }] }]);
    expect((await fetch(`${edge.url}/`)).status).toBe(421);
    expect((await fetch(`${http.origin}/`)).status).toBe(401);
  });
});

describe("the watch over the webhook", () => {
  it("sets it again where somebody has changed it, with a line in the log that names no path", async () => {
    const at = await setUp();
    await untilSet(at);
    await at.api.setWebhook({ url: "https://elsewhere.example.org/a-secret-path" });
    await at.clock.advance(600_000);
    await untilSet(at, 3);
    expect(at.calls("setWebhook")[2]?.parameters).toEqual(at.calls("setWebhook")[0]?.parameters);
    expect(at.host.logged).toEqual([
      {
        level: "warn",
        fields: { now: "elsewhere.example.org" },
        sentence: "somebody has changed the webhook of this bot; it is set again",
      },
    ]);
  });

  it("tells when Telegram cannot hand messages over, and of the end of that", async () => {
    let isDown = false;
    const clock = manualClock();
    const emulator = await startTelegram({ clock });
    const host = await testHost({ clock });
    cleanups.push(() => host.close());
    const edge = await relay(host.http.origin, (_request, response) => {
      if (isDown) response.writeHead(502).end();
      return isDown;
    });
    cleanups.push(() => edge.close());
    const at = await setUp({ emulator, clock, http: host.http, settings: { webhook: edge.url } });
    await untilSet(at);
    isDown = true;
    at.mira.sendText("one");
    at.mira.sendText("two");
    await until(() => edge.passed.length >= 2);
    await at.clock.advance(600_000);
    await until(() => at.host.failures.length === 1);
    const name = edge.url.replace("http://", "");
    expect(at.host.failures).toMatchObject([
      {
        code: "channel.unreachable",
        message: `Telegram cannot hand over 2 messages at ${name}: Wrong response from the webhook: 502 Bad Gateway; see that ${name} passes /telegram/family on to Perch`,
      },
    ]);
    isDown = false;
    await at.clock.advance(120_000);
    await at.host.whenAccepted(2);
    expect(at.host.recoveries).toEqual([1]);
  });

  it("tells at once of an address that Telegram does not take, and tries again each minute", async () => {
    const at = await setUp({ settings: { webhook: "http://bot.example.org:7373" } });
    await until(() => at.host.failures.length === 1 && at.timers() === 1);
    expect(at.host.failures).toMatchObject([
      {
        code: "channel.refused",
        message:
          "Telegram does not take the webhook at bot.example.org:7373: bad webhook: An HTTPS URL must be provided for webhook; it needs an address that begins with https, can be reached from outside and has port 443, 80, 88 or 8443",
      },
    ]);
    await at.clock.advance(60_000);
    await until(() => at.calls("setWebhook").length === 2);
    expect(at.host.failures).toHaveLength(1);
  });

  it("waits out a Telegram that cannot be reached, and ends where it does not take the token", async () => {
    const at = await setUp({
      before: (emulator) => {
        emulator.fault({ method: "setWebhook", times: 2 }, { kind: "drop", when: "before" });
        emulator.fault(
          { method: "getWebhookInfo" },
          { kind: "refuse", code: 401, description: "Unauthorized" },
        );
      },
    });
    for (const [count, waitMs] of [1_000, 2_000].entries()) {
      await until(() => at.calls("setWebhook").length === count + 1 && at.timers() === 1);
      await at.clock.advance(waitMs);
    }
    await untilSet(at, 3);
    await at.clock.advance(600_000);
    await until(() => at.host.failures.length === 1 && at.timers() === 0);
    expect(at.host.failures).toMatchObject([{ code: "channel.refused" }]);
    expect(await fetch(`${at.host.http.origin}/telegram/family`, { method: "POST" })).toMatchObject({
      status: 404,
    });
  });
});

function memoryStateWith(key: string, value: string): ReturnType<typeof memoryState> {
  const state = memoryState();
  void state.set({ [key]: value }); // it is set when this returns
  return state;
}
