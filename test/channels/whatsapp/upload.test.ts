import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MediaType, WASocket } from "@whiskeysockets/baileys";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { mediaServers } from "../../../channels/whatsapp/baileys/media/media-servers.ts";
import { upload, type UploadParts } from "../../../channels/whatsapp/baileys/media/upload.ts";
import type { MediaItem } from "../../../src/core/channel.ts";
import type { Studio } from "../../../src/core/host.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { NO_STUDIO, testHost, type TestHost } from "../../support/channel-host.ts";
import { manualClock } from "../../support/clock.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "../../support/whatsapp/loopback.ts";
import { PlainSocket } from "../../support/whatsapp/plain-socket.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/media");
let wa: LoopbackWhatsApp;
let plain: PlainSocket;
let test: TestHost;
let signal: AbortSignal;

beforeAll(async () => {
  wa = await startWhatsApp();
  wa.trust();
  const owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
  plain = new PlainSocket(wa);
  await plain.pair(owner);
});
afterAll(async () => {
  plain.close();
  await wa.close();
});
beforeEach(async () => {
  test = await testHost();
  signal = new AbortController().signal;
});
afterEach(() => test.close());

function parts(more: Partial<UploadParts> = {}): UploadParts {
  const line = { socket: plain.socket, generation: 1 };
  return {
    account: { line: () => line, me: () => undefined },
    settings: { testServer: { url: wa.url, ca: wa.ca } },
    blobs: test.host.blobs,
    studio: NO_STUDIO,
    clock: systemClock,
    ...more,
  };
}

function item(as: MediaItem["as"], bytes: Uint8Array, fields: Partial<MediaItem["media"]> = {}): MediaItem {
  return {
    as,
    media: {
      type: "file",
      mimeType: "application/octet-stream",
      blob: test.putBlob(bytes),
      bytes: bytes.length,
      ...fields,
    },
  };
}

/** A message as it goes over the line, so that what a phone opens is what was written. */
async function opened(
  message: Awaited<ReturnType<typeof upload>>,
  kind: keyof typeof message,
  type: MediaType,
) {
  return await wa.media.open(message[kind] as never, type); // each kind that is asked for has a file
}

/** How often WhatsApp was asked for its servers of files. */
function questions(): number {
  return wa.nodes.filter(({ attrs }) => attrs["xmlns"] === "w:m").length;
}

describe("an upload gives the message for", () => {
  const thumbnail = { jpeg: Buffer.from("small"), width: 1_200, height: 800 };

  it("a picture, with its sides and a small one", async () => {
    const photo = await readFile(join(FIXTURES, "photo.jpg"));
    const studio = { ...NO_STUDIO, thumbnail: vi.fn<Studio["thumbnail"]>(async () => thumbnail) };
    const clock = manualClock(1_700_000_000_000);
    const picture = item("image", photo, { type: "image", mimeType: "image/jpeg" });
    const message = await upload(picture, parts({ studio, clock }), signal);
    expect(message).toEqual({
      imageMessage: {
        url: expect.stringContaining(`https://${wa.media.host}/`),
        directPath: expect.stringMatching(/^\/v\/t62\//),
        mediaKey: expect.any(Buffer),
        fileSha256: createHash("sha256").update(photo).digest(),
        fileEncSha256: expect.any(Buffer),
        fileLength: photo.length,
        mediaKeyTimestamp: 1_700_000_000,
        mimetype: "image/jpeg",
        width: 1_200,
        height: 800,
        jpegThumbnail: thumbnail.jpeg,
      },
    });
    expect((await opened(message, "imageMessage", "image")).equals(photo)).toBe(true);
    const side = studio.thumbnail.mock.calls[0]?.[1];
    expect(side).toBeGreaterThanOrEqual(72);
    expect(side).toBeLessThanOrEqual(100);
  });

  it("a video, with its length, and one that moves like a picture", async () => {
    const studio = { ...NO_STUDIO, thumbnail: async () => ({ ...thumbnail, seconds: 12.6 }) };
    const bytes = randomBytes(300_000);
    const video = await upload(item("video", bytes, { mimeType: "video/mp4" }), parts({ studio }), signal);
    expect(video.videoMessage).toMatchObject({
      mimetype: "video/mp4",
      seconds: 13,
      width: 1_200,
      height: 800,
    });
    expect(video.videoMessage).not.toHaveProperty("gifPlayback");
    expect((await opened(video, "videoMessage", "video")).equals(bytes)).toBe(true);
    const moving = await upload(
      item("animation", bytes, { mimeType: "video/mp4" }),
      parts({ studio }),
      signal,
    );
    expect(moving.videoMessage?.gifPlayback).toBe(true);
  });

  it("a voice note, with its length and curve, and other sound without one", async () => {
    const levels = Uint8Array.from({ length: 64 }, (_zero, at) => at);
    const waveform = vi.fn<Studio["waveform"]>(async () => ({ levels, seconds: 0.4 }));
    const voice = await readFile(join(FIXTURES, "voice_known.ogg"));
    const studio = { ...NO_STUDIO, waveform };
    const note = await upload(item("voice", voice, { mimeType: "audio/ogg" }), parts({ studio }), signal);
    expect(note.audioMessage).toMatchObject({
      mimetype: "audio/ogg; codecs=opus",
      ptt: true,
      seconds: 1,
      waveform: levels,
    });
    expect(waveform.mock.calls[0]?.[1]).toBe(64);
    expect((await opened(note, "audioMessage", "audio")).equals(voice)).toBe(true);
    const sound = await upload(item("audio", voice, { mimeType: "audio/mpeg" }), parts({ studio }), signal);
    expect(sound.audioMessage).toMatchObject({ mimetype: "audio/mpeg", ptt: false, seconds: 1 });
    expect(sound.audioMessage).not.toHaveProperty("waveform");
  });

  it("a document, with its name and no picture of it", async () => {
    const bytes = randomBytes(50_000);
    const studio = { ...NO_STUDIO, thumbnail: async () => thumbnail };
    const document = item("file", bytes, { mimeType: "application/pdf", filename: "report.pdf" });
    const message = await upload(document, parts({ studio }), signal);
    expect(message.documentMessage).toMatchObject({
      mimetype: "application/pdf",
      fileName: "report.pdf",
      title: "report.pdf",
      fileLength: 50_000,
    });
    expect(message.documentMessage).not.toHaveProperty("jpegThumbnail");
    expect((await opened(message, "documentMessage", "document")).equals(bytes)).toBe(true);
  });

  it("anything at all where nothing can be made beside it", async () => {
    const plainly = await upload(item("image", randomBytes(10), { width: 30, height: 20 }), parts(), signal);
    expect(plainly.imageMessage).toMatchObject({ width: 30, height: 20, fileLength: 10 });
    const note = await upload(item("voice", randomBytes(10), { durationSeconds: 7.2 }), parts(), signal);
    expect(note.audioMessage).toMatchObject({ seconds: 7, ptt: true });
    const empty = await upload(item("file", Buffer.alloc(0)), parts(), signal);
    expect((await opened(empty, "documentMessage", "document")).length).toBe(0);
  });

  it("a file that a phone opens of any length", async () => {
    for (const length of [1, 15, 16, 17, 65_535, 65_536, 65_537]) {
      const bytes = randomBytes(length);
      const message = await upload(item("file", bytes), parts(), signal);
      expect((await opened(message, "documentMessage", "document")).equals(bytes), `${length} bytes`).toBe(
        true,
      );
    }
  });
});

describe("an upload", () => {
  it("asks for the servers of files once for many", async () => {
    await mediaServers(plain.socket, systemClock, true);
    const before = questions();
    for (let round = 0; round < 3; round += 1) await upload(item("file", randomBytes(9)), parts(), signal);
    expect(questions()).toBe(before);
  });

  it("asks anew where its right to upload has run out", async () => {
    await mediaServers(plain.socket, systemClock, true);
    const before = questions();
    wa.faults.uploads.add({ kind: "status", code: 401 });
    await upload(item("file", randomBytes(9)), parts(), signal);
    expect(questions()).toBe(before + 1);
  });

  it("asks again after an answer that never came, on the same connection", async () => {
    const clock = manualClock();
    const isQuestion = { when: ({ attrs }: { attrs: Record<string, string> }) => attrs["xmlns"] === "w:m" };
    wa.faults.queries.add({ kind: "silence" }, isQuestion);
    const other = await reconnected();
    const account = { line: () => ({ socket: other, generation: 2 }), me: () => undefined };
    const waiting = upload(item("file", randomBytes(9)), parts({ clock, account }), signal);
    const ended = waiting.catch((error: unknown) => error);
    await clock.whenTimer(20_000);
    await clock.advance(20_000);
    expect(await ended).toMatchObject({ code: "send.not_written" });
    expect(await upload(item("file", randomBytes(9)), parts({ clock, account }), signal)).toHaveProperty(
      "documentMessage",
    );
  });
});

describe("an upload that fails", () => {
  it.each([{ kind: "cut" }, { kind: "status", code: 500 }, { kind: "status", code: 503 }] as const)(
    "with %j is tried again by whoever sends it",
    async (fault) => {
      wa.faults.uploads.add(fault);
      await expect(upload(item("image", randomBytes(200_000)), parts(), signal)).rejects.toMatchObject({
        code: "send.not_written",
      });
    },
  );

  it("with an answer that never comes is given up after 20 s", async () => {
    await mediaServers(plain.socket, systemClock, true);
    wa.faults.uploads.add({ kind: "stall" });
    const clock = manualClock();
    const waiting = upload(item("image", randomBytes(200_000)), parts({ clock }), signal);
    const ended = waiting.catch((error: unknown) => error);
    await clock.whenTimer(20_000);
    await clock.advance(20_000);
    expect(await ended).toMatchObject({ message: expect.stringContaining("nothing moved for 20 s") });
  });

  it("for good may go as a document; as one it is refused", async () => {
    wa.faults.uploads.add({ kind: "status", code: 415 }, { times: 2 });
    await expect(upload(item("video", randomBytes(9)), parts(), signal)).rejects.toMatchObject({
      code: "send.refused",
      stepDown: "document",
    });
    const document = await upload(item("file", randomBytes(9)), parts(), signal).catch(
      (error: unknown) => error,
    );
    expect(document).toMatchObject({ code: "send.refused", stepDown: undefined });
  });

  it("without a connection has not written anything", async () => {
    const account = { line: () => undefined, me: () => undefined };
    await expect(upload(item("file", randomBytes(9)), parts({ account }), signal)).rejects.toMatchObject({
      code: "send.not_written",
    });
  });

  it("for a file that is gone says so", async () => {
    const gone = {
      ...item("file", randomBytes(9)),
      media: { ...item("file", randomBytes(9)).media, blob: "sha256:0" as const },
    };
    await expect(upload(gone, parts(), signal)).rejects.toMatchObject({ code: "blob.missing" });
  });

  it("as it was given up gives the reason", async () => {
    wa.faults.uploads.add({ kind: "stall" });
    const given = new AbortController();
    const waiting = upload(item("image", randomBytes(9)), parts({ clock: manualClock() }), given.signal);
    const reason = new Error("the process ends");
    const ended = waiting.catch((error: unknown) => error);
    given.abort(reason);
    expect(await ended).toBe(reason);
  });

  it("goes nowhere but to WhatsApp's own servers", async () => {
    const before = wa.media.uploads.items.length;
    const settings = { testServer: { url: "ws://127.0.0.2:1/ws/chat", ca: wa.ca } };
    await expect(upload(item("file", randomBytes(9)), parts({ settings }), signal)).rejects.toThrow(
      "named no server of its own",
    );
    expect(wa.media.uploads.items.length).toBe(before);
  });
});

async function reconnected(): Promise<WASocket> {
  plain.close();
  await plain.open();
  return plain.socket;
}
