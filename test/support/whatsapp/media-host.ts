import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { getMediaKeys, type MediaType } from "@whiskeysockets/baileys";
import type { Faults } from "./faults.ts";
import { unixSeconds } from "./nodes.ts";
import { Seen } from "./seen.ts";

/** What a message says of its file. */
export type MediaFields = {
  readonly url: string;
  readonly directPath: string;
  readonly mediaKey: Uint8Array;
  readonly fileSha256: Uint8Array;
  readonly fileEncSha256: Uint8Array;
  readonly fileLength: number;
  readonly mediaKeyTimestamp: number;
};

const FIXTURES = new URL("../../fixtures/whatsapp/", import.meta.url);
const MAC_BYTES = 10;

/** Where encrypted files are uploaded to and downloaded from, over HTTPS. */
export class MediaHost {
  /** The certificate that clients must trust. */
  readonly ca: string;
  /** The path and length of each upload that was taken. */
  readonly uploads = new Seen<{ readonly path: string; readonly bytes: number }>();
  readonly downloads = new Seen<{ readonly path: string }>();
  readonly #faults: Faults;
  readonly #files = new Map<string, Buffer>();
  readonly #expired = new Map<string, number>();
  readonly #server: Server;

  static async open(faults: Faults): Promise<MediaHost> {
    const [ca, key] = await Promise.all([
      readFile(new URL("media-host.crt.pem", FIXTURES), "utf8"),
      readFile(new URL("media-host.key.pem", FIXTURES), "utf8"),
    ]);
    const host = new MediaHost(faults, ca, key);
    await new Promise<void>((resolve) => host.#server.listen(0, "127.0.0.1", resolve));
    return host;
  }

  private constructor(faults: Faults, ca: string, key: string) {
    this.#faults = faults;
    this.ca = ca;
    this.#server = createServer({ key, cert: ca }, (request, response) => {
      const path = decodeURIComponent((request.url ?? "/").replace(/\?.*/, ""));
      if (request.method === "POST") this.#upload(path, request, response);
      else this.#download(path, response);
    });
  }

  /** "127.0.0.1:<port>" */
  get host(): string {
    const { port } = this.#server.address() as AddressInfo; // listening on TCP, so neither a string nor null
    return `127.0.0.1:${port}`;
  }

  /** Encrypts and keeps a file, as the phone of a sender does; spread what it gives into the message. */
  async put(bytes: Uint8Array, type: MediaType): Promise<MediaFields> {
    const mediaKey = randomBytes(32);
    const { iv, cipherKey, macKey } = await keysOf(mediaKey, type);
    const cipher = createCipheriv("aes-256-cbc", cipherKey, iv);
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
    const file = Buffer.concat([sealed, macOf(macKey, iv, sealed)]);
    const directPath = this.#keep(file);
    return {
      url: `https://${this.host}${directPath}`,
      directPath,
      mediaKey,
      fileSha256: sha256(bytes),
      fileEncSha256: sha256(file),
      fileLength: bytes.length,
      mediaKeyTimestamp: unixSeconds(),
    };
  }

  /** Fetches and decrypts what a message names, as the phone of a recipient does; checks all that can be checked. */
  async open(
    fields: Partial<Record<keyof MediaFields, unknown>> | null | undefined,
    type: MediaType,
  ): Promise<Buffer> {
    const { directPath, mediaKey, fileSha256, fileEncSha256 } = fields as MediaFields; // checked below, by the hashes
    const file = this.#files.get(directPath.replace(/\?.*/, ""));
    if (!file) throw new Error(`no file was uploaded at ${directPath}`);
    if (!sha256(file).equals(fileEncSha256))
      throw new Error("the file has another hash than the message says");
    const { iv, cipherKey, macKey } = await keysOf(mediaKey, type);
    const sealed = file.subarray(0, -MAC_BYTES);
    if (!macOf(macKey, iv, sealed).equals(file.subarray(-MAC_BYTES)))
      throw new Error("the file's MAC is wrong");
    const decipher = createDecipheriv("aes-256-cbc", cipherKey, iv);
    const bytes = Buffer.concat([decipher.update(sealed), decipher.final()]);
    if (!sha256(bytes).equals(fileSha256))
      throw new Error("the content has another hash than the message says");
    return bytes;
  }

  /** From now on the file is gone, with this status; a phone can still upload it anew. */
  expire(directPath: string, status = 410): void {
    this.#expired.set(directPath.replace(/\?.*/, ""), status);
  }

  /** What a phone does that is asked for a file again: gives its new path. */
  reupload(directPath: string): string | undefined {
    const file = this.#files.get(directPath.replace(/\?.*/, ""));
    return file && this.#keep(file);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #keep(file: Buffer): string {
    const path = `/v/t62/${randomBytes(8).toString("hex")}`;
    this.#files.set(path, file);
    return path;
  }

  #upload(path: string, request: IncomingMessage, response: ServerResponse): void {
    const fault = this.#faults.uploads.meets(path);
    if (fault?.kind === "cut") {
      request.once("data", () => request.destroy());
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      if (fault?.kind === "stall") return;
      if (fault?.kind === "status") return void response.writeHead(fault.code).end();
      const named = (path.split("/").pop() ?? "").replaceAll("-", "+").replaceAll("_", "/");
      if (named.replace(/=+$/, "") !== sha256(body).toString("base64").replace(/=+$/, ""))
        return void response.writeHead(400).end();
      const kept = this.#keep(body);
      this.uploads.add({ path: kept, bytes: body.length });
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ url: `https://${this.host}${kept}`, direct_path: kept }));
    });
  }

  #download(path: string, response: ServerResponse): void {
    this.downloads.add({ path });
    const file = this.#files.get(path);
    const status = file ? this.#expired.get(path) : 404;
    if (!file || status !== undefined) return void response.writeHead(status ?? 404).end();
    const fault = this.#faults.downloads.meets(path);
    const headers = { "content-length": file.length, "content-type": "application/octet-stream" };
    switch (fault?.kind) {
      case undefined:
        return void response.writeHead(200, headers).end(file);
      case "status":
        return void response.writeHead(fault.code).end();
      case "cut":
        return void response
          .writeHead(200, headers)
          .write(file.subarray(0, file.length >> 1), () => response.destroy());
      case "stall":
        return void response.writeHead(200, headers).write(file.subarray(0, 16));
      case "oversized":
        return endless(response, file);
      case "tampered":
        return void response.writeHead(200, headers).end(tampered(file));
      case "empty":
        return void response.writeHead(200, { ...headers, "content-length": 0 }).end();
    }
  }
}

/** Writes for as long as it is read. */
function endless(response: ServerResponse, bytes: Buffer): void {
  const chunk = Buffer.alloc(64 * 1024, bytes);
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.writeHead(200).on("drain", more);
  more();
}

function tampered(file: Buffer): Buffer {
  const copy = Buffer.from(file);
  copy.writeUInt8(copy.readUInt8(0) ^ 0xff, 0);
  return copy;
}

async function keysOf(
  mediaKey: Uint8Array,
  type: MediaType,
): Promise<{ iv: Buffer; cipherKey: Buffer; macKey: Buffer }> {
  const { iv, cipherKey, macKey } = await getMediaKeys(mediaKey, type);
  if (!macKey) throw new Error(`no MAC key for ${type}`);
  return { iv: Buffer.from(iv), cipherKey: Buffer.from(cipherKey), macKey: Buffer.from(macKey) };
}

function macOf(key: Buffer, iv: Buffer, sealed: Buffer): Buffer {
  return createHmac("sha256", key).update(iv).update(sealed).digest().subarray(0, MAC_BYTES);
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
