import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { isTrusted } from "../../../../channels/whatsapp/cloud/roots.ts";
import { settings } from "../../../../channels/whatsapp/settings.ts";
import { manualClock } from "../../../support/clock.ts";
import type { GraphFault, Route } from "../../../support/graph/faults.ts";
import { type Cloud, type CloudOptions, NEVER, openNumber, until } from "./set-up.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const BYTES = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 251));

/** Mira has sent a file, whose ref it is. */
async function setUp(options: CloudOptions = {}): Promise<Cloud & { readonly ref: string }> {
  const at = await openNumber({ clock: manualClock(), ...options });
  cleanups.push(() => at.close());
  at.mira.sendFile("document", BYTES, "application/pdf", { filename: "a.pdf" });
  const [event] = await at.host.whenAccepted(1);
  const part = event?.type === "message" ? event.content[0] : undefined;
  return { ...at, ref: part?.type === "unfetched" ? part.ref : "" };
}

async function fetched({ channel }: Cloud, ref: string, signal = NEVER): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await channel.fetch(ref, signal)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("a file that a person sent", () => {
  it("is fetched with the token, at an address that is asked for each time", async () => {
    const at = await setUp();
    expect((await fetched(at, at.ref)).equals(BYTES)).toBe(true);
    expect((await fetched(at, at.ref)).equals(BYTES)).toBe(true);
    expect(at.graph.calls.filter((route) => route === "lookup" || route === "file")).toEqual([
      "lookup",
      "file",
      "lookup",
      "file",
    ]);
  });

  it("is asked for once more where its address has run out, and not a third time", async () => {
    const at = await setUp();
    const gone: GraphFault = { kind: "html", status: 404, when: "before" };
    at.graph.fault("file", gone);
    expect((await fetched(at, at.ref)).equals(BYTES)).toBe(true);
    at.graph.fault("file", gone, 2);
    await expect(fetched(at, at.ref)).rejects.toMatchObject({
      code: "media.unavailable",
      message: "the file could not be fetched from WhatsApp: Meta answered 404; send it again",
    });
    expect(at.graph.calls.filter((route) => route === "lookup")).toHaveLength(4);
  });

  it.each<readonly [string, Route, GraphFault, string]>([
    ["breaks off", "file", { kind: "cut", afterBytes: 500 }, "the connection to Meta broke"],
    ["is not what was sent", "file", { kind: "tamper" }, "what came is not what was sent"],
    [
      "has no address",
      "lookup",
      { kind: "refuse", status: 400, code: 100 },
      "files older than 7 days are gone",
    ],
    ["lies elsewhere", "file", { kind: "redirect", to: "https://evil.example.org/a" }, "not Meta's"],
  ])("is unavailable where it %s", async (_what, route, fault, why) => {
    const at = await setUp();
    at.graph.fault(route, fault, 2);
    await expect(fetched(at, at.ref)).rejects.toMatchObject({
      code: "media.unavailable",
      message: expect.stringContaining(why),
    });
  });

  it("does not take the token to another address", async () => {
    const asked: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      asked.push(request.headers.authorization);
      response.end("gotcha");
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    cleanups.push(async () => void other.close());
    const { port } = other.address() as AddressInfo; // listening on TCP
    const at = await setUp();
    at.graph.fault("file", { kind: "redirect", to: `http://127.0.0.1:${port}/` }, 2);
    await expect(fetched(at, at.ref)).rejects.toMatchObject({ code: "media.unavailable" });
    expect(asked).toEqual([]);
  });

  it.each<readonly [string, GraphFault]>([
    ["never comes", { kind: "silence", when: "after" }],
    ["stops coming", { kind: "stall", afterBytes: 500 }],
  ])("ends after 20 s where it %s", async (_what, fault) => {
    const clock = manualClock();
    const at = await setUp({ clock });
    at.graph.fault("file", fault.kind === "silence" ? { kind: "stall", afterBytes: 0 } : fault);
    const fetching = fetched(at, at.ref).catch((thrown: unknown) => thrown);
    await until(() => at.graph.calls.includes("file"));
    await clock.whenTimer(20_000);
    // The first of the bytes are on their way.
    await until(() => at.timers() > 0);
    await clock.advance(20_000);
    await clock.advance(20_000);
    expect(await fetching).toMatchObject({
      code: "media.unavailable",
      message: expect.stringContaining("20 s"),
    });
    expect(at.timers()).toBe(0);
  });

  it("ends with the reason of its caller", async () => {
    const at = await setUp();
    const stop = new AbortController();
    at.graph.fault("file", { kind: "stall", afterBytes: 500 });
    const fetching = fetched(at, at.ref, stop.signal).catch((thrown: unknown) => thrown);
    await until(() => at.graph.calls.includes("file"));
    const reason = new Error("enough");
    stop.abort(reason);
    expect(await fetching).toBe(reason);
  });

  it.each(["", "me/accounts", "../../me", "1?fields=x", "12345#x"])("is none for the ref %j", async (ref) => {
    const at = await setUp();
    await expect(fetched(at, ref)).rejects.toMatchObject({ code: "media.unavailable" });
    expect(at.graph.calls).not.toContain("lookup");
  });
});

describe("where the token may go", () => {
  it.each([
    ["https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1", true],
    ["https://mmg.whatsapp.net/a", true],
    ["https://graph.facebook.com/a", true],
    ["http://lookaside.fbsbx.com/a", false],
    ["https://lookaside.fbsbx.com.example.org/a", false],
    ["https://notfacebook.com/a", false],
    ["https://lookaside.fbsbx.com@example.org/a", false],
    ["https://127.0.0.1/a", false],
    ["file:///etc/passwd", false],
    ["", false],
  ])("%s: %s", (address, expected) => {
    expect(isTrusted(address, "https://graph.facebook.com")).toBe(expected);
  });

  it("is this machine alone where the Graph API is on it, and never the open net without TLS", () => {
    expect(isTrusted("http://127.0.0.1:8080/a", "http://127.0.0.1:8080")).toBe(true);
    expect(isTrusted("http://127.0.0.1:8081/a", "http://127.0.0.1:8080")).toBe(false);
    const cloud = {
      phoneNumberId: "12345",
      token: "EAAJ0123456789012345",
      appSecret: "0".repeat(32),
      verifyToken: "0123456789abcdef",
    };
    const roots = [
      "http://127.0.0.1:x@example.org",
      "http://127.0.0.1.example.org",
      "http://graph.facebook.com",
    ];
    for (const graphRoot of roots)
      expect(settings.safeParse({ transport: "cloud", cloud: { ...cloud, graphRoot } }).success).toBe(false);
    expect(settings.safeParse({ transport: "cloud", cloud }).success).toBe(true);
  });
});
