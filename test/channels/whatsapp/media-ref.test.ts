import { proto } from "@whiskeysockets/baileys";
import { describe, expect, it } from "vitest";
import { mediaAddress } from "../../../channels/whatsapp/baileys/media/media-hosts.ts";
import { mediaRef, readMediaRef } from "../../../channels/whatsapp/baileys/media/media-ref.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import { GatewayError } from "../../../src/core/errors.ts";

const KEY = { id: "A1", remoteJid: "90000000000002@lid", fromMe: false };
const FILE = {
  url: "https://mmg.whatsapp.net/v/t62/1",
  directPath: "/v/t62/1",
  mediaKey: Buffer.alloc(32, 7),
  fileSha256: Buffer.alloc(32, 1),
  fileEncSha256: Buffer.alloc(32, 2),
  fileLength: 1_234,
};
const STATE_KEY = "a key for tests, of thirty-two letters and more";

/** As it comes from the line: 64-bit numbers are objects, and what is empty has a value all the same. */
function received(content: proto.IMessage): proto.IMessage {
  return proto.Message.decode(proto.Message.encode(content).finish());
}

describe("a reference to a file", () => {
  it("holds what it takes to fetch it, and the message to ask the phone about", async () => {
    const seal = await sealWith(STATE_KEY, "test");
    const key = { ...KEY, remoteJid: "1203630001@g.us", participant: "90000000000003@lid" };
    const ref = mediaRef(received({ imageMessage: FILE }), key, seal);
    expect(readMediaRef(ref, seal)).toEqual({
      sort: "image",
      url: FILE.url,
      path: FILE.directPath,
      key: FILE.mediaKey,
      sealedSha256: FILE.fileEncSha256,
      sha256: FILE.fileSha256,
      bytes: 1_234,
      of: { id: "A1", chat: "1203630001@g.us", fromMe: false, participant: "90000000000003@lid" },
    });
  });

  it.each([
    [{ videoMessage: FILE }, "video"],
    [{ ptvMessage: FILE }, "video"],
    [{ audioMessage: FILE }, "audio"],
    [{ documentMessage: FILE }, "document"],
    [{ stickerMessage: FILE }, "sticker"],
  ])("knows what %j is", async (content, sort) => {
    const seal = await sealWith(undefined, "test");
    expect(readMediaRef(mediaRef(received(content), KEY, seal), seal).sort).toBe(sort);
  });

  it("is the same where the same message comes again, also after a restart, and another for any other", async () => {
    const ref = async (key: typeof KEY, stateKey: string | undefined): Promise<string> =>
      mediaRef(received({ imageMessage: FILE }), key, await sealWith(stateKey, "test"));
    for (const stateKey of [STATE_KEY, undefined]) {
      expect(await ref(KEY, stateKey)).toBe(await ref(KEY, stateKey));
      expect(await ref({ ...KEY, id: "A2" }, stateKey)).not.toBe(await ref(KEY, stateKey));
    }
  });

  it("is made of a message that leaves everything out or lies about its length", async () => {
    const seal = await sealWith(undefined, "test");
    const bare = { sort: "image", of: { id: "A1", chat: KEY.remoteJid, fromMe: false } };
    for (const image of [
      {},
      { mediaKey: Buffer.alloc(0), fileLength: -5 },
      { fileLength: Number.MAX_SAFE_INTEGER * 4 },
    ])
      expect(readMediaRef(mediaRef({ imageMessage: image }, KEY, seal), seal)).toEqual(bare);
  });

  it("shows nothing of the file's key where a state key is set", async () => {
    const ref = mediaRef({ imageMessage: FILE }, KEY, await sealWith(STATE_KEY, "test"));
    const text = Buffer.from(ref.split(".").at(-1) ?? "", "base64url").toString("latin1");
    expect(text).not.toContain(FILE.mediaKey.toString("base64"));
    expect(text).not.toContain("t62");
  });

  it.each(["", "nonsense", "p1.e30", `p1.${Buffer.from('{"sort":"image"').toString("base64url")}`])(
    "is told as unavailable where it is %j",
    async (ref) => {
      const seal = await sealWith(undefined, "test");
      expect(() => readMediaRef(ref, seal)).toThrow(GatewayError);
      expect(() => readMediaRef(ref, seal)).toThrow("Ask for the file again");
    },
  );

  it("is told as unavailable where the state key was changed", async () => {
    const ref = mediaRef({ imageMessage: FILE }, KEY, await sealWith(STATE_KEY, "test"));
    const other = await sealWith(`another ${STATE_KEY}`, "test");
    expect(() => readMediaRef(ref, other)).toThrow("was stateKey changed?");
  });
});

describe("the address of a file", () => {
  const path = "/v/t62/1?oh=2&oe=3";
  it.each([
    [{ path }, `https://mmg.whatsapp.net${path}`],
    [
      { path, url: "https://media-fra3-1.cdn.whatsapp.net/x" },
      `https://media-fra3-1.cdn.whatsapp.net${path}`,
    ],
    // Phones write this where the page and no file is.
    [{ path, url: "https://web.whatsapp.net/" }, `https://mmg.whatsapp.net${path}`],
    [{ path, url: "https://attacker.example/x" }, `https://mmg.whatsapp.net${path}`],
    [{ url: "https://mmg.whatsapp.net/v/1" }, "https://mmg.whatsapp.net/v/1"],
  ])("of %j is %s", (media, address) => {
    expect(mediaAddress(media, undefined)?.href).toBe(address);
  });

  it.each([
    {},
    { url: "http://mmg.whatsapp.net/v/1" },
    { url: "https://attacker.example/v/1" },
    { url: "https://mmg.whatsapp.net.attacker.example/v/1" },
    { url: "https://evilwhatsapp.net/v/1" },
    { url: "https://mmg.whatsapp.net@attacker.example/" },
    { url: "https://user:secret@mmg.whatsapp.net/" },
    { url: "https://mmg.whatsapp.net:8443/" },
    { url: "https://127.0.0.1/" },
    { url: "file:///etc/passwd" },
    { url: "nonsense" },
    { path: "@attacker.example/" },
    { path: ".attacker.example/" },
    { path: ":8443/" },
    { path: "v/t62/1" },
  ])("is none for %j", (media) => {
    expect(mediaAddress(media, undefined)).toBeUndefined();
  });

  it("is on the test server's machine or nowhere, where there is one", () => {
    const testServer = { url: "ws://127.0.0.1:9/ws/chat", ca: "" };
    expect(mediaAddress({ path, url: "https://127.0.0.1:8/x" }, testServer)?.href).toBe(
      `https://127.0.0.1:8${path}`,
    );
    expect(mediaAddress({ path }, testServer)).toBeUndefined();
    expect(mediaAddress({ url: "https://mmg.whatsapp.net/v/1" }, testServer)).toBeUndefined();
  });
});
