import { request } from "node:https";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { LinkedDevice } from "./linked-device.ts";
import { paired, type Parties } from "./set-up.ts";

const PICTURE = Buffer.alloc(100_000, "picture");
let all: Parties & { readonly device: LinkedDevice };

beforeAll(async () => {
  all = await paired();
});

afterAll(async () => {
  await all.close();
});

type Download = { readonly status: number; readonly bytes: number; readonly end: "end" | "cut" | "left" };

/** Downloads from the media host; leaves after `limit` bytes. */
function download(url: string, limit = Infinity): Promise<Download> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { ca: all.wa.ca }, (response) => {
      let bytes = 0;
      const done = (end: Download["end"]): void => resolve({ status: response.statusCode ?? 0, bytes, end });
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes < limit) return;
        done("left");
        asked.destroy();
      });
      response.on("end", () => done("end"));
      response.on("error", () => done("cut"));
    });
    asked.on("error", reject);
    asked.end();
  });
}

it("takes an upload whose hash is right, which the recipient fetches and decrypts", async () => {
  const { wa, bob, plain } = all;
  await plain.socket.sendMessage(bob.lid, { image: PICTURE, jpegThumbnail: "", width: 1, height: 1 });
  const { message } = await wa.waitForMessage(
    (shown) => shown.person === bob && Boolean(shown.message.imageMessage),
  );
  expect((await wa.media.open(message.imageMessage, "image")).equals(PICTURE)).toBe(true);
  expect(wa.media.uploads.items).toHaveLength(1);
});

it("refuses uploads: with a status, cut, or by a wrong hash", async () => {
  const { wa, bob, plain } = all;
  const upload = { image: PICTURE, jpegThumbnail: "", width: 1, height: 1 };
  wa.faults.uploads.add({ kind: "status", code: 500 });
  await expect(plain.socket.sendMessage(bob.lid, upload)).rejects.toThrow("Media upload failed on all hosts");
  wa.faults.uploads.add({ kind: "cut" });
  await expect(plain.socket.sendMessage(bob.lid, upload)).rejects.toThrow("Media upload failed on all hosts");
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const asked = request(
      `https://${wa.media.host}/mms/image/wrong`,
      { ca: wa.ca, method: "POST" },
      (response) => resolve(response.statusCode),
    );
    asked.on("error", reject);
    asked.end("body");
  });
  expect(status).toBe(400);
});

it("hands out files whole, not at all, or as they should not be", async () => {
  const { wa } = all;
  const { url, directPath } = await wa.media.put(PICTURE, "image");
  const whole = await download(url);
  expect(whole).toMatchObject({ status: 200, end: "end" });
  wa.faults.downloads.add({ kind: "cut" });
  expect(await download(url)).toMatchObject({ status: 200, end: "cut" });
  wa.faults.downloads.add({ kind: "stall" });
  expect(await download(url, 16)).toMatchObject({ bytes: 16, end: "left" });
  wa.faults.downloads.add({ kind: "oversized" });
  expect((await download(url, 10 * whole.bytes)).end).toBe("left");
  wa.faults.downloads.add({ kind: "empty" });
  expect(await download(url)).toEqual({ status: 200, bytes: 0, end: "end" });
  wa.faults.downloads.add({ kind: "tampered" });
  expect(await download(url)).toEqual(whole);
  wa.faults.downloads.add({ kind: "status", code: 403 });
  expect((await download(url)).status).toBe(403);
  wa.media.expire(directPath, 404);
  expect((await download(url)).status).toBe(404);
});

it("has a file uploaded anew by the phone, unless that does not answer or has it no more", async () => {
  const { wa, bob, plain, device } = all;
  const imageMessage = { ...(await wa.media.put(PICTURE, "image")), mimetype: "image/png" };
  await bob.say(device, { imageMessage }, { id: "M1" });
  const message = await plain.message("M1");
  wa.media.expire(imageMessage.directPath);
  wa.faults.reuploads.add({ kind: "notFound" });
  await expect(plain.socket.updateMediaMessage(message)).rejects.toThrow("Failed to re-upload media");
  const updated = await plain.socket.updateMediaMessage(message);
  const path = updated.message?.imageMessage?.directPath ?? "";
  expect((await download(`https://${wa.media.host}${path}`)).status).toBe(200);
  wa.faults.reuploads.add({ kind: "silence" });
  void plain.socket.updateMediaMessage(message).catch(() => {}); // waits for ever
  await wa.waitForNode(({ attrs }) => attrs["type"] === "server-error");
});
