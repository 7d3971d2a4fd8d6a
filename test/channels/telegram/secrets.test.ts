import type { IncomingMessage, ServerResponse } from "node:http";
import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import telegram from "../../../channels/telegram/index.ts";
import { settings } from "../../../channels/telegram/settings.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import { startTelegram } from "../../support/telegram/emulator.ts";
import { random } from "../../reply/documents.ts";
import { httpProxy, relay, socksProxy } from "./edges.ts";
import { type Bot, openBot, text, until } from "./set-up.ts";

const SEEDS = process.env["PERCH_LONG"] ? 200 : 12;
const SECRET = "AAx9Kq-Zr_7mWtPv3LhNc8Yd5Gb2Jf6Qs0E";
const TOKEN = `6900000001:${SECRET}`;
const PASSWORD = "a-proxy-Passw0rd-of-the-operator";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** The secrets of a connection and their halves, as they stand and in addresses. */
function secretsOf(...secrets: readonly string[]): readonly string[] {
  return secrets.flatMap((secret) => {
    const middle = Math.floor(secret.length / 2);
    const parts = [secret, secret.slice(0, middle), secret.slice(middle)];
    return [...parts, ...parts.map(encodeURIComponent)];
  });
}

/** Which secrets stand in it, wherever: messages, causes, properties that are not shown, stacks. */
function found(told: unknown, secrets: readonly string[]): readonly string[] {
  const shown = inspect(told, { depth: 20, showHidden: true, maxStringLength: null, maxArrayLength: null });
  return secrets.filter((secret) => shown.includes(secret));
}

type Trouble = (request: IncomingMessage, response: ServerResponse) => void;

const json =
  (code: number, description: (path: string) => string, more: object = {}): Trouble =>
  (request, response) => {
    const body = { ok: false, error_code: code, description: description(request.url ?? ""), ...more };
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
const echoing = (path: string): string =>
  `Bad Request: no such thing as ${path} or ${encodeURIComponent(path)}`;

/** What an edge, a proxy or a Bot API in trouble does with a call; all that can be said of the call is said in it. */
const TROUBLES: readonly Trouble[] = [
  (request) => void request.socket.destroy(),
  (request) => void request.on("end", () => request.socket.destroy()).resume(),
  ({ url }, response) => void response.writeHead(502).end(`<html>cannot reach ${url}</html>`),
  ({ url }, response) => void response.writeHead(404).end(`<html>not found: ${url}</html>`),
  ({ url }, response) => void response.writeHead(200).end(`{"ok":true,"result":"${url}`),
  ({ url = "", socket }) => void socket.end(`HTTP/1.1 200 OK\r\n${url}\r\n\r\n`),
  ({ url = "", socket }) => void socket.end(`HTTP/1.1 ${url}\r\n\r\n`),
  ({ url = "" }, response) => {
    response.writeHead(200, { "content-length": 1_000 });
    response.write(`{"ok":true,"result":"${url}`, () => response.destroy());
  },
  ({ url = "" }, response) => void response.writeHead(302, { location: `http://127.0.0.1:9${url}` }).end(),
  json(400, echoing),
  json(403, echoing),
  json(404, (path) => `Not Found: ${path}`),
  json(409, (path) => `Conflict: terminated by other getUpdates request at ${path}`),
  json(409, (path) => `Conflict: can't use getUpdates method while webhook is active at ${path}`),
  json(429, (path) => `Too Many Requests at ${path}: retry after 1`, { parameters: { retry_after: 1 } }),
  json(500, (path) => `Internal Server Error: restart of ${path}`),
];

/** Does all that a connection can do, and gives what was thrown at it. */
async function everything(bot: Bot, ref: string): Promise<readonly unknown[]> {
  const { channel, host } = bot;
  const signal = AbortSignal.timeout(5_000);
  const image = {
    kind: "media",
    as: "image",
    media: { type: "image", mimeType: "image/png", blob: host.putBlob(Buffer.from("png")), bytes: 3 },
  } as const;
  const piece = { id: 1, to: { channel: "family", chat: "700100001" }, body: text("hello") };
  const reading = async (): Promise<number> => {
    let bytes = 0;
    for await (const chunk of await channel.fetch(ref, signal)) bytes += chunk.length;
    return bytes;
  };
  const tried = await Promise.allSettled([
    bot.send(text("hello")),
    bot.send(image),
    reading(),
    channel.startLink?.("12345678"),
    channel.progress?.(piece.to, { kind: "draft", text: "so far" }),
    channel.find?.(piece, { number: 1 }, { before: ["1"], after: ["3"] }, signal),
    channel.takeBack?.(piece.to, ["1"], signal),
  ]);
  return tried.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
}

/** Lets time pass until it is done; it must not fail. */
async function passing<T>(clock: ManualClock, doing: Promise<T>): Promise<T> {
  const done = new AbortController();
  void doing.then(() => done.abort());
  while (!done.signal.aborted) await clock.advance(1_000);
  return await doing;
}

describe("whatever goes wrong with Telegram", () => {
  const seeds = Array.from({ length: SEEDS }, (_, seed) => seed + 1);

  it.each(seeds)("gives no token and no webhook's secret away (seed %i)", async (seed) => {
    const next = random(seed);
    const clock = manualClock();
    const emulator = await startTelegram({ clock, token: TOKEN });
    let met = 0;
    const edge = await relay(emulator.apiRoot, (request, response) => {
      // The first call is in trouble in any case, so that something is told.
      if (met > 0 && next() < 0.3) return false;
      met += 1;
      TROUBLES[Math.floor(next() * TROUBLES.length)]?.(request, response);
      return true;
    });
    cleanups.push(() => edge.close());
    const own = seed % 2 === 0 ? { webhook: "https://bot.example.org" } : {};
    const bot = await openBot({ emulator, clock, apiRoot: edge.url, settings: own });
    cleanups.push(() => bot.close());
    bot.mira.sendDocument(Buffer.from("the bytes"), { fileName: "a.txt" });
    const thrown: unknown[] = [];
    for (let round = 0; round < 12; round += 1)
      thrown.push(...(await passing(clock, everything(bot, "EMUDOCAgADfile1"))));
    const given = settings.parse({ token: TOKEN, apiRoot: edge.url, ...own });
    const chats = [{ chat: "700100001", when: "all" as const }];
    const examining = telegram.examine?.(given, { clock, chats, origin: "http://127.0.0.1:7373" });
    const kept = await bot.host.host.state.get(["webhookSecret"]);
    const told = [bot.host.logged, bot.host.failures, thrown, await examining];
    expect(met).toBeGreaterThan(20);
    expect(thrown.length).toBeGreaterThan(5);
    expect(bot.host.logged.length + bot.host.failures.length).toBeGreaterThan(0);
    expect(found(told, secretsOf(SECRET, ...kept.values()))).toEqual([]);
  });

  it("keeps to itself what it says of a file of a Bot API server on this machine", async () => {
    const emulator = await startTelegram({ token: TOKEN });
    const edge = await relay(emulator.apiRoot, ({ url = "" }, response) => {
      if (!url.endsWith("/getFile")) return false;
      const file_path = `/var/lib/bot-api/${TOKEN}/documents/file_1`;
      response.end(JSON.stringify({ ok: true, result: { file_id: "F", file_unique_id: "U", file_path } }));
      return true;
    });
    cleanups.push(() => edge.close());
    for (const own of [{}, { serverFolder: "/tmp" }]) {
      const bot = await openBot({ emulator, apiRoot: edge.url, settings: own });
      const thrown = await everything(bot, "F");
      expect(thrown.map((error) => error instanceof Error && error.message)).toContainEqual(
        expect.stringContaining("could not be fetched"),
      );
      expect(found([thrown, bot.host.logged], secretsOf(SECRET))).toEqual([]);
      await bot.channel.close();
    }
    await emulator.close();
  });
});

describe("a proxy in trouble", () => {
  it.each<[string, () => ReturnType<typeof httpProxy>, string]>([
    ["refuses", () => httpProxy({ verdict: () => ({ status: 403 }) }), "http"],
    ["asks for another password", () => httpProxy({ password: "another" }), "http"],
    ["breaks off", () => httpProxy({ verdict: () => "break" }), "http"],
    ["speaks no TLS", () => httpProxy(), "https"],
    ["is a SOCKS proxy that asks for another password", () => socksProxy({ password: "another" }), "socks5"],
    ["is no SOCKS proxy", () => httpProxy(), "socks5"],
  ])("that %s does not give its password or the token away", async (_what, start, scheme) => {
    const proxy = await start();
    cleanups.push(() => proxy.close());
    const clock = manualClock();
    const emulator = await startTelegram({ clock, token: TOKEN });
    const address = `${scheme}://perch:${PASSWORD}@127.0.0.1:${proxy.port}`;
    const bot = await openBot({ emulator, clock, settings: { proxy: address } });
    cleanups.push(() => bot.close());
    await until(() => bot.host.logged.length > 0);
    const thrown = await passing(clock, everything(bot, "F"));
    const given = settings.parse({ token: TOKEN, apiRoot: emulator.apiRoot, proxy: address });
    const findings = await telegram.examine?.(given, { clock, chats: [], origin: "" });
    expect(findings).toMatchObject([{ kind: "fault", text: expect.stringContaining("through the proxy") }]);
    const told = [thrown, bot.host.logged, bot.host.failures, findings];
    expect(found(told, secretsOf(SECRET, PASSWORD))).toEqual([]);
  });
});
