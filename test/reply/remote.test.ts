import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { fetchRemote, isAllowed, isPublicAddress, type RemoteRules } from "../../src/reply/remote.ts";
import { manualClock } from "../support/clock.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server on loopback that answers as the test says; gives its port and counts what it is asked. */
async function serve(answer: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.headers.host?.split(":")[0]}${request.url}`);
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, asked };
}

/** A resolver that knows every name, and counts what it is asked. */
function names(addresses: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, _options, callback) => {
    asked.push(hostname);
    const found = addresses[hostname] ?? ["127.0.0.1"];
    callback(
      null,
      found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return { lookup, asked };
}

const collect = async (chunks: AsyncIterable<Uint8Array>): Promise<string> => {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
};

const HOSTS = ["files.example.org", "cdn.example.org"];
const rules = (more: Partial<RemoteRules> = {}): RemoteRules => ({
  hosts: HOSTS,
  clock: systemClock,
  lookup: names({}).lookup,
  // The tests' servers stand for public ones.
  isPublic: (address) => address === "127.0.0.1" || isPublicAddress(address),
  ...more,
});

const get = (address: string, more: Partial<RemoteRules> = {}, signal = new AbortController().signal) =>
  fetchRemote(address, rules(more), signal, collect);

describe("a file of an allowed host", () => {
  it("is fetched, under the last part of its address", async () => {
    const { port } = await serve((_request, response) => response.end("bytes"));
    expect(await get(`http://files.example.org:${port}/a/tide%20table.png?v=2#x`)).toEqual({
      taken: "bytes",
      filename: "tide table.png",
    });
  });

  it("is fetched through redirects to allowed hosts", async () => {
    const { port, asked } = await serve((request, response) => {
      if (request.url === "/a")
        response.writeHead(302, { location: `http://cdn.example.org:${port}/b` }).end();
      else response.end("bytes");
    });
    expect((await get(`http://files.example.org:${port}/a`)).taken).toBe("bytes");
    expect(asked).toEqual(["files.example.org/a", "cdn.example.org/b"]);
  });

  it("comes from the very address that was looked at: the name is asked for once", async () => {
    const { port } = await serve((_request, response) => response.end("bytes"));
    const { lookup, asked } = names({});
    await get(`http://files.example.org:${port}/a`, { lookup });
    expect(asked).toEqual(["files.example.org"]);
  });
});

describe("what is not fetched", () => {
  it.each([
    "https://example.org/a.png",
    "https://evil.files.example.org/a.png",
    "https://files.example.org.evil.example/a.png",
    "https://files.example.org@evil.example/a.png",
    "https://me:pw@files.example.org/a.png",
    "ftp://files.example.org/a.png",
    "//files.example.org/a.png",
    "file:///etc/passwd",
    "https://127.0.0.1/a.png",
    "https://[::1]/a.png",
  ])("is a link: %s", async (address) => {
    expect(isAllowed(address, HOSTS)).toBe(false);
    await expect(get(address)).rejects.toMatchObject({ code: "media.outside_root" });
  });

  it("is nothing at all where no host is allowed", () => {
    expect(isAllowed("https://files.example.org/a.png", [])).toBe(false);
    expect(isAllowed("https://FILES.example.org/a.png", HOSTS)).toBe(true);
  });

  it.each([
    ["10.0.0.1"],
    ["127.0.0.1"],
    ["169.254.169.254"],
    ["100.64.0.1"],
    ["192.168.1.1"],
    ["172.31.255.255"],
    ["0.0.0.0"],
    ["224.0.0.1"],
    ["255.255.255.255"],
    ["::1"],
    ["::"],
    ["fe80::1"],
    ["fc00::1"],
    ["ff02::1"],
    ["::ffff:127.0.0.1"],
    ["::ffff:7f00:1"],
    ["::127.0.0.1"],
    ["64:ff9b::7f00:1"],
    ["64:ff9b:1::7f00:1"],
    ["2002:7f00:1::"],
    ["2001:0:7f00:1::"],
    ["2001:db8::1"],
    // One public address does not make up for the other.
    ["93.184.215.14", "10.0.0.1"],
  ])("lies at %s", async (...addresses) => {
    const { port, asked } = await serve((_request, response) => response.end("TOP-SECRET-4271"));
    const { lookup } = names({ "files.example.org": addresses });
    const asking = get(`http://files.example.org:${port}/a`, { lookup, isPublic: isPublicAddress });
    await expect(asking).rejects.toMatchObject({ code: "media.outside_root" });
    expect(asked).toEqual([]);
  });

  it.each(["8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450::1"])(
    "is not what lies at %s",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it("is where a redirect leads into the house, to a host that is not allowed, or from https to http", async () => {
    const { port, asked } = await serve((request, response) => {
      const to = {
        "/in": "http://inside.example.org/x",
        "/other": "http://127.0.0.1/x",
        "/odd": "file:///etc/passwd",
      };
      response.writeHead(301, { location: to[request.url as keyof typeof to] }).end(); // one of the three
    });
    for (const path of ["/in", "/other", "/odd"])
      await expect(get(`http://files.example.org:${port}${path}`)).rejects.toMatchObject({
        code: "media.outside_root",
      });
    const { lookup } = names({ "cdn.example.org": ["10.0.0.1"] });
    const again = await serve((_request, response) =>
      response.writeHead(302, { location: "http://cdn.example.org/x" }).end(),
    );
    await expect(get(`http://files.example.org:${again.port}/a`, { lookup })).rejects.toMatchObject({
      code: "media.outside_root",
    });
    expect(asked).toHaveLength(3);
  });

  it("is what leads on and on", async () => {
    const { port, asked } = await serve((_request, response) =>
      response.writeHead(302, { location: "/again" }).end(),
    );
    await expect(get(`http://files.example.org:${port}/a`)).rejects.toThrow("more than 3 times");
    expect(asked).toHaveLength(4);
  });

  it("is an error page, a broken download, or a host that is not reached", async () => {
    const { port } = await serve((request, response) => {
      if (request.url === "/404") response.writeHead(404).end("no");
      else {
        response.writeHead(200, { "content-length": "1000" });
        response.write("half");
        response.socket?.end();
      }
    });
    for (const path of ["/404", "/half"])
      await expect(get(`http://files.example.org:${port}${path}`)).rejects.toMatchObject({
        code: "media.unavailable",
      });
    await expect(get("http://files.example.org:1/a")).rejects.toMatchObject({ code: "media.unavailable" });
  });

  it("is what takes longer than half a minute, and lets go of its connection", async () => {
    const clock = manualClock();
    let gone: (() => void) | undefined;
    const left = new Promise<void>((resolve) => {
      gone = resolve;
    });
    let asked: (() => void) | undefined;
    const begun = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const { port } = await serve((request, response) => {
      response.writeHead(200);
      response.write("drip");
      request.socket.once("close", () => gone?.());
      asked?.();
    });
    const asking = get(`http://files.example.org:${port}/a`, { clock });
    const refused = asking.catch(String);
    await begun;
    await clock.advance(30_000);
    expect(await refused).toContain("it took longer than 30 s");
    await left;
  });

  it("is what nobody waits for any more", async () => {
    const stop = new AbortController();
    const { port } = await serve((_request, response) => {
      response.writeHead(200);
      response.write("drip");
      stop.abort(new Error("the grace is over"));
    });
    await expect(get(`http://files.example.org:${port}/a`, {}, stop.signal)).rejects.toThrow(
      "the grace is over",
    );
  });
});
