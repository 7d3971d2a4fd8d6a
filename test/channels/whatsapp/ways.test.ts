import { readFile } from "node:fs/promises";
import { createServer as createSecure } from "node:https";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, expect, it } from "vitest";
import { waysFor } from "../../../channels/whatsapp/baileys/life/ways.ts";

const FIXTURES = new URL("../../fixtures/whatsapp/", import.meta.url);

const ends: (() => void)[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

it("trusts no certificate but the test server's, whatever the environment says", async () => {
  const { ca, url } = await secureServer();
  const { dispatcher } = await waysFor({});
  const plain = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  try {
    await expect(fetch(url, { dispatcher } as RequestInit)).rejects.toThrow(/fetch failed/);
  } finally {
    if (plain === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = plain;
  }
  const trusting = await waysFor({ testServer: { url: "ws://127.0.0.1:1/", ca } });
  expect(await (await fetch(url, { dispatcher: trusting.dispatcher } as RequestInit)).text()).toBe("here");
});

it("goes through the proxy with all three kinds of calls", async () => {
  const { ca, url } = await secureServer();
  const proxy = await startProxy();
  const ways = await waysFor({ proxy: proxy.url, testServer: { url: "ws://127.0.0.1:1/", ca } });
  expect(await (await fetch(url, { dispatcher: ways.dispatcher } as RequestInit)).text()).toBe("here");
  expect(proxy.connects).toEqual([new URL(url).host]);
  expect(ways.agent).toBe(ways.fetchAgent);
  expect(ways.agent.constructor.name).toBe("HttpsProxyAgent");
});

async function secureServer(): Promise<{ readonly ca: string; readonly url: string }> {
  const [ca, key] = await Promise.all(
    ["media-host.crt.pem", "media-host.key.pem"].map((name) => readFile(new URL(name, FIXTURES), "utf8")),
  );
  if (ca === undefined || key === undefined) throw new Error("there is no certificate");
  const server = createSecure({ key, cert: ca }, (_request, response) => response.end("here"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { ca, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

async function startProxy(): Promise<{ readonly url: string; readonly connects: string[] }> {
  const connects: string[] = [];
  const server = createServer((client) => {
    client.once("data", (head) => {
      const target = /^CONNECT (\S+):(\d+) /.exec(String(head));
      if (!target) return client.destroy();
      connects.push(`${target[1]}:${target[2]}`);
      const far = connect(Number(target[2]), target[1]);
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(far).pipe(client);
      far.on("error", () => client.destroy());
      client.on("error", () => far.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connects };
}
