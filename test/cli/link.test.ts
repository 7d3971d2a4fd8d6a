import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { pair } from "../../src/cli/pair.ts";
import type { PairingStep } from "../../src/core/channel.ts";
import { connectionsHandler } from "../../src/http/connections.ts";
import { startHttp } from "../../src/http/server.ts";
import { lockFolder } from "../../src/store/lock.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A terminal beside a process that has the data, whose server is at `port`. */
async function terminal(port: number, password = "", more: readonly string[] = []) {
  const clock = manualClock();
  const folder = await mkdtemp(join(tmpdir(), "perch-link-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "config/agents"), { recursive: true });
  await writeFile(join(folder, "config/agents/helper.md"), "---\nmodel: demo\n---\nBe brief.\n");
  await writeFile(
    join(folder, "config/perch.yaml"),
    [
      "channels:",
      "  web: { kind: web }",
      "  family: { kind: whatsapp }",
      "  spare: { kind: whatsapp, stateKey: '${OTHER_KEY}' }",
      `http: { port: ${port}${password === "" ? "" : ", password: '${PASSWORD}'"} }`,
      "data: { folder: ../data }",
      ...more,
    ].join("\n"),
  );
  const lock = lockFolder(join(folder, "data"), clock.now());
  cleanups.push(async () => lock.release());
  const stop = new AbortController();
  return {
    stop,
    async pair(...words: readonly string[]) {
      const lines: string[] = [];
      const options = {
        folder,
        env: { PASSWORD: password },
        print: (line: string) => void lines.push(line),
        clock,
        log: memoryLog([]),
        stop: stop.signal,
        terminal: false,
      };
      return { code: await pair(options, words), lines };
    },
  };
}

/** A gateway's own server, with one connection to link. */
async function gateway(steps: readonly PairingStep[], password?: string): Promise<number> {
  const server = await startHttp({
    host: "127.0.0.1",
    port: 0,
    log: memoryLog([]),
    health: () => ({ ok: true }),
    ...(password === undefined ? {} : { password }),
  });
  cleanups.push(() => server.close());
  const pairing = async function* (): AsyncIterable<PairingStep> {
    yield* steps;
  };
  const source = { list: () => [], pair: (id: string) => (id === "family" ? pairing() : undefined) };
  server.mount("/connections", connectionsHandler(source));
  return Number(new URL(server.local).port);
}

/** A server that answers as `answer` does. */
async function stub(answer: (response: ServerResponse, server: Server) => void): Promise<number> {
  const server = createServer((_request, response) => answer(response, server));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

describe("perch pair beside a gateway that runs", () => {
  it("shows its steps, with the password of perch.yaml", async () => {
    const port = await gateway(
      [{ kind: "code", code: "ABCD1234", until: 0 }, { kind: "linked" }],
      "pass word",
    );
    const at = await terminal(port, "pass word");
    const { code, lines } = await at.pair("family");
    expect([code, lines.slice(1)]).toEqual([
      0,
      ["Type this code: ABCD-1234", "Linked. It answers from now on, while Perch runs."],
    ]);
  });

  it("asks the process of several that runs here, though that locks no folder", async () => {
    const at = await terminal(await gateway([{ kind: "linked" }]), "", [
      'store: { url: "postgres://perch@127.0.0.1:9/perch" }',
      'cluster: { redis: "redis://127.0.0.1:9" }',
    ]);
    expect(await at.pair("family")).toEqual({
      code: 0,
      lines: ["Linked. It answers from now on, while Perch runs."],
    });
  });

  it("says that another password holds", async () => {
    const at = await terminal(await gateway([{ kind: "linked" }], "of the start"), "of perch.yaml");
    await expect(at.pair("family")).rejects.toMatchObject({
      code: "config.invalid",
      message:
        "the gateway that runs does not take the password of perch.yaml (403); it has that of its start, so restart it",
    });
  });

  it("says where it does not answer: while it starts or ends, or is at another port", async () => {
    const port = await stub(() => {});
    for (const cleanup of cleanups.splice(0)) await cleanup(); // nothing listens there any more
    const at = await terminal(port);
    await expect(at.pair("family")).rejects.toMatchObject({
      code: "channel.unreachable",
      message: expect.stringMatching(
        /^the gateway that has the data does not answer at http:\/\/127\.0\.0\.1:\d+; /,
      ),
    });
  });

  it("says that it has ended in the middle of it", async () => {
    const port = await stub((response) => {
      response.write(`${JSON.stringify({ kind: "agreed" })}\n`, () => response.destroy());
    });
    const at = await terminal(port);
    expect(await at.pair("family")).toEqual({
      code: 1,
      lines: [
        "The phone has agreed; one moment.",
        "The gateway ended before the account was linked; try again.",
      ],
    });
  });

  it("ends without a word when it is stopped", async () => {
    let asked = (): void => {};
    const waiting = new Promise<void>((resolve) => (asked = resolve));
    const at = await terminal(await stub(() => asked()));
    const ended = at.pair("family");
    await waiting;
    at.stop.abort();
    expect(await ended).toEqual({ code: 1, lines: [] });
  });

  it("knows no connection that is not there, and none that is off", async () => {
    const at = await terminal(await gateway([]));
    await expect(at.pair("nobody")).rejects.toThrow(
      'there is no connection "nobody" in perch.yaml; name one of: ',
    );
    await expect(at.pair("spare")).rejects.toThrow("spare is off; set OTHER_KEY first");
  });
});
