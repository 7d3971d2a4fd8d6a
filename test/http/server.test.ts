import { type IncomingHttpHeaders, request as httpRequest } from "node:http";
import { once } from "node:events";
import { type AddressInfo, type Server, createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type HttpOptions, type HttpServer, startHttp } from "../../src/http/server.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";

const open: HttpServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function start(options: Partial<HttpOptions> = {}): Promise<HttpServer & { readonly port: number }> {
  const lines: LoggedLine[] = [];
  const server = await startHttp({
    host: "127.0.0.1",
    port: 0,
    log: memoryLog(lines),
    health: () => ({ ok: true }),
    ...options,
  });
  open.push(server);
  return { ...server, port: Number(new URL(server.origin).port) };
}

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };

/** fetch() sets Host and Origin itself; this sends what it is told. */
function ask(
  port: number,
  path: string,
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: "127.0.0.1", port, path, method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function takePort(): Promise<{ readonly taken: Server; readonly port: number }> {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  return { taken, port: (taken.address() as AddressInfo).port }; // TCP servers have no other address
}

const hello = async (): Promise<Response> => new Response("hello");

describe("a page of another site", () => {
  it.each([
    ["cross-site", "no-cors", 403],
    ["cross-site", "cors", 403],
    ["same-site", "no-cors", 403], // another port of this machine
    ["cross-site", "navigate", 200],
    ["none", "navigate", 200],
    ["same-origin", "cors", 200],
  ])("that loads something here (%s, %s) gets %i", async (site, mode, status) => {
    const server = await start();
    server.mount("/", hello);
    const headers = {
      host: `127.0.0.1:${server.port}`,
      "sec-fetch-site": site,
      "sec-fetch-mode": mode,
    };
    expect((await ask(server.port, "/api/chats/c/events", { headers })).status).toBe(status);
  });
});

describe("startHttp", () => {
  it("answers 200 with the health it is given while it is ok, and 503 otherwise", async () => {
    let ok = true;
    const server = await start({ health: () => ({ ok, waiting: 3 }) });
    const well = await fetch(`${server.origin}/healthz`);
    ok = false;
    const ill = await fetch(`${server.origin}/healthz`);
    expect([well.status, await well.json(), ill.status]).toEqual([200, { ok: true, waiting: 3 }, 503]);
  });
  it("answers whether it is ready apart from whether it is well, and with its numbers", async () => {
    const server = await start({
      ready: async () => ({ ok: false, store: "away" }),
      metrics: { text: async () => "perch_turns_total 3\n", contentType: "text/plain; version=0.0.4" },
    });
    const ready = await fetch(`${server.origin}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, { ok: false, store: "away" }]);
    expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
    const numbers = await fetch(`${server.origin}/metrics`);
    expect([numbers.headers.get("content-type"), await numbers.text()]).toEqual([
      "text/plain; version=0.0.4",
      "perch_turns_total 3\n",
    ]);
  });

  it("hands a request to the closest mounted path, as it came", async () => {
    const server = await start();
    server.mount("/", async (request) => new Response(`page ${new URL(request.url).pathname}`));
    server.mount("/hook", async (request) => new Response(`hook ${new URL(request.url).pathname}`));
    const texts = await Promise.all(
      ["/", "/chat.js", "/hook", "/hook/a/b", "/hooks"].map(async (path) =>
        (await fetch(server.origin + path)).text(),
      ),
    );
    expect(texts).toEqual(["page /", "page /chat.js", "hook /hook", "hook /hook/a/b", "page /hooks"]);
  });

  it("leaves a mount with a door of its own to itself: no password, no name, no origin is asked for", async () => {
    const server = await start({ password: "correct horse" });
    server.mount("/", async () => new Response("inside"));
    const paths: string[] = [];
    const ownDoor = async (request: Request): Promise<Response> => {
      paths.push(new URL(request.url).pathname);
      return new Response(await request.text(), { status: 401 });
    };
    const unmount = server.mount("/telegram/family", ownDoor, { ownDoor: true });
    const headers = { host: "bot.example.org", origin: "https://elsewhere.example.org" };
    const call = { method: "POST", headers, body: "knock" };
    const [own, below, beside, above] = await Promise.all(
      ["/telegram/family", "/telegram/family/x", "/telegram/family2", "/telegram/family/../../"].map((path) =>
        ask(server.port, path, call),
      ),
    );
    expect([own, below, beside, above].map((answer) => answer?.status)).toEqual([401, 401, 421, 421]);
    expect(own).toMatchObject({ text: "knock", headers: { "x-content-type-options": "nosniff" } });
    expect(paths.toSorted()).toEqual(["/telegram/family", "/telegram/family/x"]);
    unmount();
    const local = { host: `127.0.0.1:${server.port}` };
    expect((await ask(server.port, "/telegram/family", { headers: local })).status).toBe(401);
    expect(
      await ask(server.port, "/telegram/family", { headers: { host: "bot.example.org" } }),
    ).toMatchObject({
      status: 421,
    });
  });

  it("takes away with a mount no other that has come in its place", async () => {
    const server = await start();
    const unmount = server.mount("/page", hello);
    unmount();
    server.mount("/page", async () => new Response("another"));
    unmount();
    expect(await (await fetch(`${server.origin}/page`)).text()).toBe("another");
  });

  it("refuses to mount a path twice, or one of its own", async () => {
    const server = await start();
    server.mount("/", hello);
    expect(() => server.mount("/", hello)).toThrow(/two channels want the web path \//);
    expect(() => server.mount("/healthz", hello)).toThrow(/healthz/);
  });

  it("names the address and the remedy when its port is taken", async () => {
    const { taken, port } = await takePort();
    await expect(start({ port })).rejects.toMatchObject({
      code: "http.port_in_use",
      message: `another program listens on 127.0.0.1:${port}; stop it, or set http.port to a free port`,
    });
    taken.close();
  });

  it("refuses an address that others can reach without a password", async () => {
    await expect(start({ host: "0.0.0.0" })).rejects.toMatchObject({ code: "config.invalid" });
    await expect(start({ origins: ["https://chat.example.org"] })).rejects.toMatchObject({
      code: "config.invalid",
    });
  });

  it("streams an answer as it is made, and tells its maker when the reader goes away", async () => {
    const server = await start();
    const gone = new Promise<string>((resolve) => {
      server.mount("/", async () => {
        const body = new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
          cancel: () => resolve("gone"),
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      });
    });
    const reader = new AbortController();
    const response = await fetch(server.origin, { signal: reader.signal });
    const first = await response.body?.getReader().read();
    expect(Buffer.from(first?.value ?? []).toString()).toBe("data: 1\n\n");
    reader.abort();
    expect(await gone).toBe("gone");
  });

  it("ends open streams at once when it closes", async () => {
    const server = await start();
    server.mount(
      "/",
      async () => new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array([1])) })),
    );
    const response = await fetch(server.origin);
    open.splice(0);
    await server.close();
    await expect(response.arrayBuffer()).rejects.toThrow("terminated");
  });

  it("sends the headers that keep other sites and foreign scripts out, and lets a handler be stricter", async () => {
    const server = await start();
    server.mount("/", hello);
    server.mount(
      "/strict",
      async () => new Response("", { headers: { "content-security-policy": "sandbox" } }),
    );
    const { headers } = await fetch(server.origin);
    expect(headers.get("content-security-policy")).toContain("script-src 'self';");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("content-security-policy")).not.toContain("unsafe");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect((await fetch(`${server.origin}/strict`)).headers.get("content-security-policy")).toBe("sandbox");
  });

  it("says nothing of what went wrong inside a handler", async () => {
    const lines: LoggedLine[] = [];
    const server = await start({ log: memoryLog(lines) });
    server.mount("/", async () => Promise.reject(new Error("secret detail")));
    const response = await fetch(server.origin);
    expect([response.status, (await response.text()).includes("secret")]).toEqual([500, false]);
    expect(lines.at(-1)).toMatchObject({ level: "error", sentence: "a request failed" });
  });
});

describe("who may ask", () => {
  it.each([
    ["127.0.0.1", true],
    ["localhost", true],
    ["[::1]", true],
    ["evil.example", false],
    ["127.0.0.1.evil.example", false],
    ["10.0.0.5", false],
    ["localhost@evil.example", false],
    ["[::1", false],
  ])("on loopback, takes Host %s: %s", async (name, known) => {
    const server = await start();
    server.mount("/", hello);
    const { status } = await ask(server.port, "/", { headers: { host: `${name}:${server.port}` } });
    // What is no host name at all is refused with 400, by whoever parses it first.
    expect(known ? [200] : [421, 400]).toContain(status);
  });

  it("does not know its own name with another port", async () => {
    const server = await start();
    server.mount("/", hello);
    expect((await ask(server.port, "/", { headers: { host: "localhost:1" } })).status).toBe(421);
    expect((await ask(server.port, "/", { headers: { host: "localhost" } })).status).toBe(421);
  });

  it.each<[Record<string, string>, number]>([
    [{}, 200],
    [{ origin: "SELF" }, 200],
    [{ origin: "http://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ origin: "http://localhost:1" }, 403],
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ "sec-fetch-site": "same-site" }, 403],
  ])("answers a POST with %j by %i", async (headers, status) => {
    const server = await start();
    server.mount("/", hello);
    const sent = headers["origin"] === "SELF" ? { ...headers, origin: server.origin } : headers;
    expect((await ask(server.port, "/", { method: "POST", headers: sent })).status).toBe(status);
  });

  it("knows the names that it is reached by through a proxy", async () => {
    const { taken, port } = await takePort();
    taken.close();
    await once(taken, "close");
    const server = await start({ port, origins: ["https://chat.example.org"], password: "correct horse" });
    expect(server.origin).toBe("https://chat.example.org");
    expect(server.loopback).toBe(false);
    const status = async (host: string): Promise<number> =>
      (await ask(port, "/login", { headers: { host } })).status;
    expect([
      await status("chat.example.org"),
      await status("evil.example"),
      await status("192.168.1.4:80"),
    ]).toEqual([200, 421, 200]);
  });
});
