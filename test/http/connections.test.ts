import { afterEach, describe, expect, it } from "vitest";
import type { PairingStep, PairingWish } from "../../src/core/channel.ts";
import { connectionsHandler } from "../../src/http/connections.ts";
import { type HttpServer, startHttp } from "../../src/http/server.ts";
import { memoryLog } from "../support/channel-host.ts";

const open: HttpServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

const QR = "https://wa.me/settings/linked_devices#ref,noise,identity,secret";

async function setUp(steps: readonly PairingStep[], password?: string) {
  const wishes: PairingWish[] = [];
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const server = await startHttp({
    host: "127.0.0.1",
    port: 0,
    log: memoryLog([]),
    health: () => ({ ok: true }),
    ...(password === undefined ? {} : { password }),
  });
  open.push(server);
  server.mount(
    "/connections",
    connectionsHandler({
      list: () => [{ id: "family", kind: "whatsapp", is: "unpaired", words: "not linked", pairs: true }],
      pair: (id, wish, signal) => (id === "family" ? pairing(wish, signal) : undefined),
    }),
  );

  async function* pairing(wish: PairingWish, signal: AbortSignal): AsyncIterable<PairingStep> {
    wishes.push(wish);
    yield* steps;
    if (steps.at(-1)?.kind === "linked") return;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    end();
  }

  const post = (body: unknown, more: RequestInit = {}): Promise<Response> =>
    fetch(`${server.local}/connections`, { method: "POST", body: JSON.stringify(body), ...more });
  return { server, post, wishes, ended };
}

describe("/connections", () => {
  it("lists where the connections stand", async () => {
    const { server } = await setUp([]);
    expect(await (await fetch(`${server.local}/connections`)).json()).toEqual({
      connections: [{ id: "family", kind: "whatsapp", is: "unpaired", words: "not linked", pairs: true }],
    });
  });

  it("streams the steps of linking, a QR code with its picture, and nobody stores them", async () => {
    const { post, wishes } = await setUp([{ kind: "qr", text: QR, until: 5 }, { kind: "linked" }]);
    const answer = await post({ connection: "family" });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const lines = (await answer.text()).trim().split("\n");
    const [qr, linked] = lines.map((line) => JSON.parse(line) as unknown);
    expect(qr).toMatchObject({ kind: "qr", text: QR, until: 5, svg: expect.stringMatching(/^<svg /) });
    expect(linked).toEqual({ kind: "linked" });
    expect(wishes).toEqual([{}]);
  });

  it("asks for a code with the number that was typed, and with nothing else", async () => {
    const { post, wishes } = await setUp([{ kind: "code", code: "ABCD1234", until: 5 }, { kind: "linked" }]);
    await (await post({ connection: "family", phone: "+15550000001" })).text();
    expect(wishes).toEqual([{ phone: "+15550000001" }]);
    for (const phone of ["5550000001", "+1555 000", 5, ""])
      expect((await post({ connection: "family", phone })).status).toBe(400);
  });

  it("ends the linking when whoever looked on goes away", async () => {
    const { post, ended } = await setUp([{ kind: "qr", text: QR, until: 5 }]);
    const leaving = new AbortController();
    const answer = await post({ connection: "family" }, { signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    await expect(ended).resolves.toBeUndefined();
  });

  it("knows no others, and no other ways", async () => {
    const { server, post } = await setUp([]);
    expect((await post({ connection: "shop" })).status).toBe(404);
    expect((await post("family")).status).toBe(400);
    expect((await post({ connection: "family", more: "x".repeat(500) })).status).toBe(400);
    expect((await fetch(`${server.local}/connections`, { method: "PUT" })).status).toBe(405);
    expect((await fetch(`${server.local}/connections/more`)).status).toBe(404);
  });

  it("reads no more than such a request can have", async () => {
    const { post } = await setUp([{ kind: "linked" }]);
    const wish = JSON.stringify({ connection: "family" });
    let bytes = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = Buffer.from(bytes === 0 ? wish : " ".repeat(10_000));
        bytes += chunk.length;
        controller.enqueue(chunk);
      },
    });
    const answer = post(undefined, { body: endless, duplex: "half" });
    expect((await answer).status).toBe(400);
  });

  it("stands behind the password and the guard against other sites", async () => {
    const { server, post } = await setUp([{ kind: "linked" }], "correct horse");
    expect((await fetch(`${server.local}/connections`)).status).toBe(401);
    expect((await post({ connection: "family" })).status).toBe(401);
    expect(
      (await post({ connection: "family" }, { headers: { origin: "https://evil.example" } })).status,
    ).toBe(403);
  });
});
