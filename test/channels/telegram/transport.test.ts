import dns from "node:dns";
import { createServer, type Server } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { Api } from "grammy";
import { afterEach, describe, expect, it, vi } from "vitest";
import { download } from "../../../channels/telegram/download.ts";
import { failureOf } from "../../../channels/telegram/failures.ts";
import { type Line, openLine, type TransportError } from "../../../channels/telegram/transport.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { manualClock } from "../../support/clock.ts";
import { startTelegram, type TelegramEmulator } from "../../support/telegram/emulator.ts";
import { type Edge, httpProxy, socksProxy } from "./edges.ts";
import { startReceiving, untilPolled } from "./receiving.ts";
import { MIRA, until } from "./set-up.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  vi.restoreAllMocks();
});

async function telegram(): Promise<TelegramEmulator> {
  const emulator = await startTelegram();
  cleanups.push(() => emulator.close());
  return emulator;
}

function kept<T extends { close(): unknown }>(edge: T): T {
  cleanups.push(() => edge.close());
  return edge;
}

async function line(apiRoot: string, proxy?: string): Promise<Line> {
  const opened = await openLine(apiRoot, proxy);
  cleanups.push(() => opened.renew());
  return opened;
}

/** What a call that must fail ends with. */
async function failure(opened: Line, url: string, signal?: AbortSignal): Promise<TransportError> {
  const headers = { "content-type": "application/json" };
  const call = { method: "POST", headers, body: "{}", ...(signal ? { signal } : {}) } as const;
  const error: unknown = await opened.open(url, call).catch((thrown: unknown) => thrown);
  if (!(error instanceof Error)) throw new Error("the call did not fail");
  return error as TransportError; // nothing else is thrown, which each test looks at
}

describe("a proxy", () => {
  const PASSWORD = "pass/w:rd";

  it.each<[string, () => Promise<Edge>, (port: number) => string]>([
    ["an HTTP proxy", () => httpProxy(), (port) => `http://127.0.0.1:${port}`],
    [
      "an HTTP proxy with a password",
      () => httpProxy({ password: PASSWORD }),
      (port) => `http://perch:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
    ],
    ["a SOCKS5 proxy", () => socksProxy(), (port) => `socks5://127.0.0.1:${port}`],
    [
      "a SOCKS5 proxy that looks names up itself",
      () => socksProxy(),
      (port) => `socks5h://127.0.0.1:${port}`,
    ],
    [
      "a SOCKS5 proxy with a password",
      () => socksProxy({ password: PASSWORD }),
      (port) => `socks5://perch:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
    ],
  ])("is what polls, sends and downloads go through: %s", async (_what, start, address) => {
    const proxy = kept(await start());
    const ends = vi.spyOn(Socket.prototype, "setTimeout");
    const clock = manualClock();
    const emulator = await startTelegram({ clock });
    const at = await startReceiving({ clock, emulator, settings: { proxy: address(proxy.port) } });
    cleanups.push(() => at.close());
    await untilPolled(at, 1);
    at.mira.sendDocument(Buffer.from("the bytes"), { fileName: "a.txt" });
    const [event] = await at.host.whenAccepted(1);
    const part = event?.type === "message" ? event.content[0] : undefined;
    const downloads = await line(emulator.apiRoot, address(proxy.port));
    const parts = {
      api: at.api,
      line: downloads,
      files: `${emulator.apiRoot}/file/bot${emulator.token}/`,
      serverFolder: undefined,
      clock: systemClock,
    };
    const ref = part?.type === "unfetched" ? part.ref : "";
    const bytes = await download(ref, parts, new AbortController().signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe("the bytes");
    await at.api.sendMessage({ chat_id: MIRA.id, text: "hello" });
    await untilPolled(at, 2);
    // One connection each for polls, sends and downloads, used again and again.
    const target = emulator.apiRoot.replace("http://", "");
    expect(proxy.passed).toEqual([target, target, target]);
    // What idles is closed, as without a proxy.
    expect(ends).toHaveBeenCalledWith(10_000);
  });

  it.each<[string, () => Promise<Edge>, string, string]>([
    [
      "asks for a password",
      () => httpProxy({ password: "x" }),
      "http://perch:wrong-secret@",
      "it answered 407",
    ],
    [
      "does not reach Telegram",
      () => httpProxy({ verdict: () => ({ status: 502 }) }),
      "http://",
      "it answered 502",
    ],
    ["hangs up", () => httpProxy({ verdict: () => "break" }), "http://", ""],
    ["does not take the password", () => socksProxy({ password: "x" }), "socks5://perch:wrong-secret@", ""],
  ])("that %s has let nothing be written", async (_what, start, scheme, words) => {
    const proxy = kept(await start());
    const opened = await line("http://127.0.0.1:9", `${scheme}127.0.0.1:${proxy.port}`);
    const error = await failure(opened, "http://127.0.0.1:9/bot1:secret/getMe");
    expect(error).toMatchObject({ name: "TransportError", written: false });
    expect(error.message).toMatch(/^Telegram could not be reached through the proxy: ./);
    expect(error.message).toContain(words);
    expect(error.message).not.toContain("wrong-secret");
  });

  it("that is not there has let nothing be written", async () => {
    const gone = await httpProxy();
    await gone.close();
    for (const scheme of ["http", "socks5"]) {
      const opened = await line("http://127.0.0.1:9", `${scheme}://127.0.0.1:${gone.port}`);
      expect(await failure(opened, "http://127.0.0.1:9/")).toMatchObject({ written: false });
    }
  });

  it("that never answers is let go with the call, and the next call has its chance", async () => {
    const emulator = await telegram();
    let verdict: "silence" | "pass" = "silence";
    const proxy = kept(await httpProxy({ verdict: () => verdict }));
    const opened = await line(emulator.apiRoot, proxy.url);
    const stop = new AbortController();
    const failing = failure(opened, `${emulator.apiRoot}/`, stop.signal);
    await until(() => proxy.open() === 1);
    stop.abort();
    expect(await failing).toMatchObject({ written: false });
    await until(() => proxy.open() === 0);
    verdict = "pass";
    const api = new Api(emulator.token, { apiRoot: emulator.apiRoot, fetch: opened.fetch as never }).raw;
    expect(await api.getMe()).toMatchObject({ username: "fern_demo_bot" });
  });
});

describe("a SOCKS5 proxy that never answers", () => {
  it("does not keep the call from ending", async () => {
    const proxy = kept(await socksProxy({ silent: true }));
    const opened = await line("http://127.0.0.1:9", `socks5://127.0.0.1:${proxy.port}`);
    const stop = new AbortController();
    const failing = failure(opened, "http://127.0.0.1:9/", stop.signal);
    await until(() => proxy.open() === 1);
    stop.abort();
    expect(await failing).toMatchObject({ written: false });
  });
});

describe("a call that fails", () => {
  it("was not written where nobody listens, the name is unknown, or there is no TLS", async () => {
    const emulator = await telegram();
    const gone = await httpProxy();
    await gone.close();
    const roots = [gone.url, "http://telegram.invalid", emulator.apiRoot.replace("http:", "https:")];
    for (const root of roots) {
      const error = await failure(await line(root), `${root}/bot1:x/sendMessage`);
      expect([root, error.written]).toEqual([root, false]);
      expect(failureOf(error)).toMatchObject({ kind: "not written" });
    }
  });

  it("may have been written once the connection stood", async () => {
    const emulator = await telegram();
    emulator.fault({ method: "getMe" }, { kind: "drop", when: "before" });
    const error = await failure(
      await line(emulator.apiRoot),
      `${emulator.apiRoot}/bot${emulator.token}/getMe`,
    );
    expect(error).toMatchObject({ written: true });
  });

  it("was not written where it was given up before it began", async () => {
    const emulator = await telegram();
    const opened = await line(emulator.apiRoot);
    expect(await failure(opened, emulator.apiRoot, AbortSignal.abort())).toMatchObject({ written: false });
    expect(emulator.calls).toEqual([]);
  });

  it("says no more than that there was no JSON, and holds no more than 16 MB of it", async () => {
    const page = "<html>".repeat(3_000_000);
    const server: Server = createServer((_request, response) => void response.end(page));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => {
      server.close();
      server.closeAllConnections();
    });
    const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listening on TCP
    const api = new Api("1:x", { apiRoot: root, fetch: (await line(root)).fetch as never }).raw;
    const error: unknown = await api.getMe().catch((thrown: unknown) => thrown);
    expect(failureOf(error)).toEqual({ kind: "unknown", why: "an answer of more than 16777216 bytes came" });
  });
});

describe("a name with addresses of both families", () => {
  it("is reached by IPv4 where IPv6 leads nowhere", async () => {
    const emulator = await telegram();
    const both = [
      { address: "::1", family: 6 },
      { address: "127.0.0.1", family: 4 },
    ];
    vi.spyOn(dns, "lookup").mockImplementation(((_name: string, _options: unknown, done: unknown) =>
      (done as (error: null, all: typeof both) => void)(null, both)) as never); // as with `all`, which is asked for
    const root = emulator.apiRoot.replace("127.0.0.1", "telegram.test");
    const api = new Api(emulator.token, { apiRoot: root, fetch: (await line(root)).fetch as never }).raw;
    expect(await api.getMe()).toMatchObject({ username: "fern_demo_bot" });
  });
});
