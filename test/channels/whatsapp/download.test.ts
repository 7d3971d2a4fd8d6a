import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MediaType } from "@whiskeysockets/baileys";
import { download, type DownloadParts } from "../../../channels/whatsapp/baileys/media/download.ts";
import { mediaRef } from "../../../channels/whatsapp/baileys/media/media-ref.ts";
import { patience } from "../../../channels/whatsapp/baileys/media/patience.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { manualClock } from "../../support/clock.ts";
import { Faults } from "../../support/whatsapp/faults.ts";
import { MediaHost, type MediaFields } from "../../support/whatsapp/media-host.ts";

const KEY = { id: "A1", remoteJid: "90000000000002@lid", fromMe: false };
const seal = await sealWith(undefined, "test");
let faults: Faults;
let host: MediaHost;
const closing: (() => void | Promise<void>)[] = [];

beforeEach(async () => {
  faults = new Faults();
  host = await MediaHost.open(faults);
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await host.close();
});

function parts(more: Partial<DownloadParts> = {}): DownloadParts {
  return {
    account: { line: () => undefined, me: () => undefined },
    settings: settings(),
    seal,
    clock: systemClock,
    ...more,
  };
}

function settings(proxy?: string): DownloadParts["settings"] {
  const testServer = { url: "ws://127.0.0.1:1/ws/chat", ca: host.ca };
  return proxy === undefined ? { testServer } : { testServer, proxy };
}

async function refOf(bytes: Uint8Array, lies: Partial<MediaFields> = {}, type: MediaType = "document") {
  const fields = { ...(await host.put(bytes, type)), ...lies };
  return mediaRef({ [`${type}Message`]: fields }, KEY, seal);
}

async function read(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function fetched(ref: string, by = parts(), signal = new AbortController().signal): Promise<Buffer> {
  return await read(await download(ref, by, signal));
}

/** A proxy that hands on what it is asked for, answers as the test says, or with 0 never. */
async function startProxy(status = 200): Promise<{ url: string; asked: string[]; sockets: Set<Socket> }> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const proxy: Server = createServer().on("connect", (request, client) => {
    asked.push(request.url ?? "");
    if (status === 0) return void client.resume().on("end", () => client.end());
    if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const [name = "", port] = (request.url ?? "").split(":");
    const upstream = connect(Number(port), name, () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
    upstream
      .on("error", () => client.destroy())
      .pipe(client)
      .on("error", () => upstream.destroy())
      .pipe(upstream);
  });
  proxy.on("connection", (socket: Socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)));
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, asked, sockets };
}

describe("a download", () => {
  it.each([0, 1, 15, 16, 17, 65_536, 1_000_003])("gives the %d bytes that were sent", async (length) => {
    const bytes = randomBytes(length);
    expect((await fetched(await refOf(bytes))).equals(bytes)).toBe(true);
  });

  it.each(["image", "video", "audio", "document", "sticker"] as const)(
    "opens what a phone seals as %s",
    async (type) => {
      expect((await fetched(await refOf(Buffer.from("hello"), {}, type))).toString()).toBe("hello");
    },
  );

  it("is fetched by its address where its message has no path", async () => {
    expect((await fetched(await refOf(Buffer.from("hello"), { directPath: "" }))).toString()).toBe("hello");
  });

  it("goes through the operator's proxy", async () => {
    const { url, asked } = await startProxy();
    expect(
      (await fetched(await refOf(Buffer.from("hello")), parts({ settings: settings(url) }))).toString(),
    ).toBe("hello");
    expect(asked).toEqual([host.host]);
  });

  it("is not taken in memory as a whole", async () => {
    const ref = await refOf(Buffer.alloc(8_000_000, 1));
    const source = await download(ref, parts(), new AbortController().signal);
    const sizes: number[] = [];
    for await (const chunk of source) sizes.push(chunk.length);
    expect(Math.max(...sizes)).toBeLessThan(1_000_000);
  });

  it("trusts no server but one whose certificate is good", async () => {
    const ref = await refOf(Buffer.from("hello"));
    const testServer = { url: "ws://127.0.0.1:1/ws/chat", ca: "" };
    await expect(fetched(ref, parts({ settings: { testServer } }))).rejects.toMatchObject({
      code: "media.unavailable",
    });
    expect(host.downloads.items).toEqual([]);
  });
});

describe("a download that fails says so once", () => {
  it.each([
    ["cut", "media.unavailable"],
    ["empty", "media.unavailable"],
    ["tampered", "media.unreadable"],
    ["oversized", "media.too_large"],
  ] as const)("where the body is %s", async (kind, code) => {
    faults.downloads.add({ kind });
    await expect(fetched(await refOf(randomBytes(100_000)))).rejects.toMatchObject({ code });
  });

  it.each([
    ["checksum", { fileSha256: Buffer.alloc(32) }, "its checksum differs"],
    ["encrypted checksum", { fileEncSha256: Buffer.alloc(32) }, "the checksum of its encrypted form differs"],
    ["length", { fileLength: 6 }, "its length differs"],
    ["key", { mediaKey: Buffer.alloc(32) }, "its authentication code differs"],
  ])("where its message has another %s", async (_what, lies, words) => {
    const wrong = fetched(await refOf(Buffer.from("hello"), lies));
    await expect(wrong).rejects.toMatchObject({ code: "media.unreadable" });
    await expect(wrong).rejects.toThrow(words);
  });

  it("where more comes than was announced, before it is all there", async () => {
    await expect(fetched(await refOf(randomBytes(500_000), { fileLength: 100 }))).rejects.toThrow(
      "the file is larger than the 100 bytes that its message announced",
    );
  });

  it("where it says that it is larger than anything can be, without asking for it", async () => {
    const huge = fetched(await refOf(Buffer.from("hello"), { fileLength: 3_000_000_000 }));
    await expect(huge).rejects.toMatchObject({ code: "media.too_large" });
    expect(host.downloads.items).toEqual([]);
  });

  it.each([301, 302, 500, 503, 429])("where the server answers %d", async (code) => {
    faults.downloads.add({ kind: "status", code });
    await expect(fetched(await refOf(Buffer.from("hello")))).rejects.toThrow(`it answered ${code}`);
  });

  it("where it is gone and there is no connection to ask the phone over", async () => {
    const fields = await host.put(Buffer.from("hello"), "image");
    host.expire(fields.directPath);
    const ref = mediaRef({ imageMessage: fields }, KEY, seal);
    await expect(fetched(ref)).rejects.toThrow("the connection is down");
  });

  it("where its message came without a key, or names another server", async () => {
    await expect(
      fetched(mediaRef({ imageMessage: { url: "https://x.example/" } }, KEY, seal)),
    ).rejects.toThrow("without the key");
    const elsewhere = await refOf(Buffer.from("hello"), { url: "https://x.example/", directPath: "" });
    await expect(fetched(elsewhere)).rejects.toThrow("names no server of WhatsApp's");
  });

  it("where the proxy lets nobody through, which is not taken for the server's word", async () => {
    const { url } = await startProxy(403);
    const ref = await refOf(Buffer.from("hello"));
    await expect(fetched(ref, parts({ settings: settings(url) }))).rejects.toThrow("the proxy answered 403");
  });
});

describe("a download that stands still ends after 20 s", () => {
  it("before its first byte", async () => {
    const { url, asked, sockets } = await startProxy(0);
    const clock = manualClock();
    const waiting = fetched(await refOf(Buffer.from("hello")), parts({ settings: settings(url), clock }));
    const ended = waiting.catch((error: unknown) => error);
    await expect.poll(() => asked.length).toBe(1);
    await clock.advance(20_000);
    expect(await ended).toMatchObject({ code: "media.unavailable" });
    await expect.poll(() => sockets.size).toBe(0);
  });

  it("in the middle", async () => {
    faults.downloads.add({ kind: "stall" });
    const clock = manualClock();
    const source = await download(
      await refOf(randomBytes(1_000)),
      parts({ clock }),
      new AbortController().signal,
    );
    const ended = read(source).catch((error: unknown) => error);
    await clock.advance(19_999);
    await clock.advance(1);
    expect(await ended).toMatchObject({ message: expect.stringContaining("nothing came for 20 s") });
  });

  it("and not as long as something moves", async () => {
    const clock = manualClock();
    const silent = new Error("silent");
    const waiting = patience(clock, 20_000, silent, new AbortController().signal);
    await clock.advance(19_999);
    waiting.moved();
    await clock.advance(19_999);
    expect(waiting.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(waiting.signal.reason).toBe(silent);
  });
});

describe("a download that is given up", () => {
  it("ends with the reason and lets go of its connection", async () => {
    faults.downloads.add({ kind: "stall" });
    const { url, sockets } = await startProxy();
    const given = new AbortController();
    const source = await download(
      await refOf(randomBytes(1_000)),
      parts({ settings: settings(url) }),
      given.signal,
    );
    const reason = new Error("given up");
    const ended = read(source).catch((error: unknown) => error);
    given.abort(reason);
    expect(await ended).toBe(reason);
    await expect.poll(() => sockets.size).toBe(0);
  });

  it("lets go of its connection also where nobody has read of it", async () => {
    faults.downloads.add({ kind: "stall" });
    const { url, sockets } = await startProxy();
    const given = new AbortController();
    await download(await refOf(randomBytes(1_000)), parts({ settings: settings(url) }), given.signal);
    given.abort(new Error("given up"));
    await expect.poll(() => sockets.size).toBe(0);
  });

  it("is not begun where it was given up before", async () => {
    const reason = new Error("given up");
    await expect(fetched(await refOf(Buffer.from("x")), parts(), AbortSignal.abort(reason))).rejects.toBe(
      reason,
    );
    expect(host.downloads.items).toEqual([]);
  });
});
