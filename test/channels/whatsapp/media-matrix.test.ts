import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MediaType, normalizeMessageContent, type proto } from "@whiskeysockets/baileys";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { download } from "../../../channels/whatsapp/baileys/media/download.ts";
import type { Account } from "../../../channels/whatsapp/baileys/line.ts";
import { mediaRef } from "../../../channels/whatsapp/baileys/media/media-ref.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import type { MediaKind } from "../../../src/core/blocks.ts";
import { takeIn } from "../../../src/media/take-in.ts";
import type { Taken } from "../../../src/media/taken.ts";
import { FileBlobs } from "../../../src/store/blobs.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import { MEDIA_LIMITS, reading } from "../../support/media.ts";
import type { LinkedDevice } from "../../support/whatsapp/linked-device.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "../../support/whatsapp/loopback.ts";
import type { MediaFields } from "../../support/whatsapp/media-host.ts";
import type { Person } from "../../support/whatsapp/person.ts";
import { PlainSocket } from "../../support/whatsapp/plain-socket.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/media");
const PHOTO = await readFile(join(FIXTURES, "photo.jpg"));
const seal = await sealWith("a key for tests, of thirty-two letters and more", "media");
// Those of the intake, which this suite does not look at, are out of the way.
const limits = { ...MEDIA_LIMITS, fetchSeconds: 3_600, stallSeconds: 600 };

let wa: LoopbackWhatsApp;
let plain: PlainSocket;
let owner: Person;
let bob: Person;
let device: LinkedDevice;
let folder: string;
let blobs: FileBlobs;
let clock: ManualClock;
const strays: unknown[] = [];
const stray = (thrown: unknown): void => void strays.push(thrown);

beforeAll(async () => {
  process.on("unhandledRejection", stray).on("uncaughtException", stray);
  wa = await startWhatsApp();
  wa.trust();
  owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
  bob = await wa.addPerson({ phone: "15550000002", lid: "90000000000002", name: "Bob" });
  plain = new PlainSocket(wa);
  device = await plain.pair(owner);
});
afterAll(async () => {
  plain.close();
  await wa.close();
  process.off("unhandledRejection", stray).off("uncaughtException", stray);
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-matrix-"));
  blobs = new FileBlobs(folder);
  clock = manualClock();
  owner.reachable = true;
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
  if (strays.length > 0) throw new AggregateError(strays.splice(0), "nobody handled these");
});

type Sent = { readonly taken: Promise<Taken>; readonly fields: MediaFields; readonly id: string };

/** Bob sends a file; `before` is what happens to it before it is fetched. */
async function sends(
  bytes: Uint8Array,
  before: (fields: MediaFields) => void = () => {},
  {
    type = "image",
    lies = {},
    account = live(),
  }: { type?: MediaType; lies?: object; account?: Account } = {},
): Promise<Sent> {
  const fields = await wa.media.put(bytes, type);
  const id = await bob.say(device, { [`${type}Message`]: { ...fields, mimetype: "image/jpeg", ...lies } });
  const { key, message } = await plain.message(id);
  before(fields);
  const parts = { account, seal, clock, settings: { testServer: { url: wa.url, ca: wa.ca } } };
  const content: proto.IMessage = normalizeMessageContent(message) ?? {};
  const unfetched = {
    type: "unfetched",
    kind: type === "image" ? "image" : ("file" as MediaKind),
    ref: mediaRef(content, key, seal),
    declared: { mimeType: "image/jpeg" },
  } as const;
  const open = (ref: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> =>
    download(ref, parts, signal);
  const by = reading(blobs, { open, clock, limits });
  return { taken: takeIn(unfetched, by, new AbortController().signal), fields, id };
}

function live(): Account {
  const line = { socket: plain.socket, generation: 1 };
  return { line: () => line, me: () => ({ pn: owner.phone, lid: owner.lid }) };
}

/** What became of it; nothing of what was dropped lies about. */
async function outcomeOf({ taken }: Sent): Promise<Taken["outcome"]> {
  const { outcome } = await taken;
  const left = (await readdir(folder)).filter((name) => name.startsWith("."));
  expect(left).toEqual([]);
  return outcome;
}

describe("a picture that somebody sends", () => {
  it("is seen", async () => {
    expect(await outcomeOf(await sends(PHOTO))).toBe("seen");
  });

  it.each([403, 404, 410])(
    "is uploaded again by the phone where the server says %d, and seen",
    async (status) => {
      const { socket } = plain;
      const [on, off] = [vi.spyOn(socket.ev, "on"), vi.spyOn(socket.ev, "off")];
      const sent = await sends(PHOTO, ({ directPath }) => wa.media.expire(directPath, status));
      expect(await outcomeOf(sent)).toBe("seen");
      expect(
        wa.nodes.filter(({ attrs }) => attrs["type"] === "server-error" && attrs["id"] === sent.id),
      ).toHaveLength(1);
      expect(on.mock.calls.length).toBeGreaterThan(0);
      expect(off.mock.calls).toEqual(on.mock.calls);
      vi.restoreAllMocks();
    },
  );

  it("is asked for again once, and unavailable where it is gone after that as well", async () => {
    const gone = { kind: "status", code: 404 } as const;
    const stop = wa.faults.downloads.add(gone, { times: Infinity });
    const sent = await sends(PHOTO);
    expect(await outcomeOf(sent)).toBe("unavailable");
    stop();
    expect(
      wa.nodes.filter(({ attrs }) => attrs["type"] === "server-error" && attrs["id"] === sent.id),
    ).toHaveLength(1);
  });

  it("is unavailable where the phone has it no more", async () => {
    wa.faults.reuploads.add({ kind: "notFound" });
    expect(await outcomeOf(await sends(PHOTO, ({ directPath }) => wa.media.expire(directPath)))).toBe(
      "unavailable",
    );
  });

  it("is unavailable after 20 s where the phone is off", async () => {
    owner.reachable = false;
    const sent = await sends(PHOTO, ({ directPath }) => wa.media.expire(directPath));
    await wa.waitForNode(({ attrs }) => attrs["type"] === "server-error" && attrs["id"] === sent.id);
    await clock.advance(20_000);
    expect(await outcomeOf(sent)).toBe("unavailable");
  });

  it("is unavailable at once where the connection breaks while the phone is asked", async () => {
    owner.reachable = false;
    const sent = await sends(PHOTO, ({ directPath }) => wa.media.expire(directPath));
    await wa.waitForNode(({ attrs }) => attrs["type"] === "server-error" && attrs["id"] === sent.id);
    wa.cut();
    expect(await outcomeOf(sent)).toBe("unavailable");
    await plain.open();
  });

  it("is unavailable where there is no connection to ask over", async () => {
    const account = { ...live(), line: () => undefined };
    const sent = await sends(PHOTO, ({ directPath }) => wa.media.expire(directPath), { account });
    expect(await outcomeOf(sent)).toBe("unavailable");
  });

  it.each(["cut", "empty", "tampered"] as const)("is unavailable where its body is %s", async (kind) => {
    expect(await outcomeOf(await sends(PHOTO, () => wa.faults.downloads.add({ kind })))).toBe("unavailable");
  });

  it("is unavailable after 20 s where its body stalls", async () => {
    const sent = await sends(PHOTO, () => wa.faults.downloads.add({ kind: "stall" }));
    await clock.whenTimer(20_000);
    await clock.advance(20_000);
    expect(await outcomeOf(sent)).toBe("unavailable");
  });

  it("is too large where more comes than was said, and where nothing was said", async () => {
    const endless = (): void => void wa.faults.downloads.add({ kind: "oversized" });
    expect(await outcomeOf(await sends(PHOTO, endless))).toBe("too_large");
    expect(await outcomeOf(await sends(PHOTO, endless, { lies: { fileLength: undefined } }))).toBe(
      "too_large",
    );
  });

  it("is unreadable where it is none, or nothing", async () => {
    expect(await outcomeOf(await sends(Buffer.from("<html><body>no picture</body></html>")))).toBe(
      "unreadable",
    );
    expect(await outcomeOf(await sends(PHOTO.subarray(0, 200)))).toBe("unreadable");
    expect(await outcomeOf(await sends(Buffer.alloc(0)))).toBe("unreadable");
  });

  it("is seen where it is something else than its message says", async () => {
    const png = await readFile(join(FIXTURES, "red64.png"));
    expect(await outcomeOf(await sends(png))).toBe("seen");
    expect(await outcomeOf(await sends(png, undefined, { type: "document" }))).toBe("seen");
  });

  it("of which the message holds a wrong checksum, key or address is unavailable", async () => {
    for (const lies of [
      { fileSha256: Buffer.alloc(32) },
      { fileEncSha256: Buffer.alloc(32) },
      { mediaKey: Buffer.alloc(32, 1) },
      { mediaKey: undefined },
      { url: "https://attacker.example/", directPath: undefined },
    ])
      expect(
        await outcomeOf(await sends(PHOTO, undefined, { lies })),
        `${Object.keys(lies).join()} is wrong`,
      ).toBe("unavailable");
  });
});
