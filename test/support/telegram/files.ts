import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../../src/core/clock.ts";
import { badRequest } from "./refusal.ts";

/** A file that Telegram holds; both what people send and what the bot uploads. */
export type StoredFile = {
  readonly fileId: string;
  readonly uniqueId: string;
  /** What updates declare; larger than `bytes` only where a test says so. */
  readonly size: number;
  readonly bytes: Buffer;
  readonly path: string;
  readonly fileName?: string;
  readonly mimeType?: string;
};

export type NewFile = {
  readonly bytes: Uint8Array;
  /** The folder in the file path: "photos", "documents". */
  readonly folder: string;
  readonly extension: string;
  readonly fileName?: string;
  readonly mimeType?: string;
  readonly declaredBytes?: number;
};

const DOWNLOAD_BYTES = 20 << 20; // telegram-bot-api Client.h: MAX_DOWNLOAD_FILE_SIZE
const LINK_MS = 3_600_000; // Bot API getFile: the link is valid for at least 1 hour

export class FileStore {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #localFolder: string | undefined;
  readonly #files = new Map<string, StoredFile>();
  readonly #linkedAt = new Map<string, number>();
  #count = 0;

  /** Keeps the newest `most`. With a folder it is the store of a Bot API server that was started with --local. */
  constructor(clock: Clock, most: number, localFolder?: string) {
    this.#clock = clock;
    this.#most = most;
    this.#localFolder = localFolder;
  }

  add(file: NewFile): StoredFile {
    this.#count += 1;
    const n = this.#count;
    const stored: StoredFile = {
      fileId: `EMU${file.folder.slice(0, 2).toUpperCase()}CAgADfile${n}`,
      uniqueId: `AgADunique${n}`,
      size: file.declaredBytes ?? file.bytes.length,
      bytes: Buffer.from(file.bytes),
      path: `${file.folder}/file_${n}.${file.extension}`,
      ...(file.fileName !== undefined && { fileName: file.fileName }),
      ...(file.mimeType !== undefined && { mimeType: file.mimeType }),
    };
    this.#files.set(stored.fileId, stored);
    this.#forgetOldest();
    return stored;
  }

  /** @throws Refusal for an id that this bot has never seen. */
  get(fileId: string): StoredFile {
    const file = this.#files.get(fileId);
    if (!file) throw badRequest("wrong file_id or the file is temporarily unavailable");
    return file;
  }

  /**
   * What getFile does: opens the link for an hour, or writes the file into the local folder, where one that declares
   * more than it has is filled up with zeros. Gives the path that getFile tells. @throws Refusal above 20 MiB of a link.
   */
  open(file: StoredFile): string {
    if (this.#localFolder !== undefined) return written(file, this.#localFolder);
    if (file.size > DOWNLOAD_BYTES) throw badRequest("file is too big");
    this.#linkedAt.set(file.path, this.#clock.now());
    return file.path;
  }

  /** The file behind an open link. */
  at(path: string): StoredFile | undefined {
    const linkedAt = this.#linkedAt.get(path);
    if (linkedAt === undefined || this.#clock.now() - linkedAt >= LINK_MS) return undefined;
    return [...this.#files.values()].find((file) => file.path === path);
  }

  #forgetOldest(): void {
    const [oldest] = this.#files.values();
    if (!oldest || this.#files.size <= this.#most) return;
    this.#files.delete(oldest.fileId);
    this.#linkedAt.delete(oldest.path);
  }
}

function written(file: StoredFile, folder: string): string {
  const path = join(folder, file.path);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, file.bytes);
  truncateSync(path, file.size);
  return path;
}

export type Size = { readonly width: number; readonly height: number };

/** Width and height as the header of a PNG, JPEG, GIF or WebP says. */
export function imageSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 12) return undefined;
  if (bytes.readUInt32BE(0) === 0x89504e47 && bytes.length >= 24) {
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  }
  if (bytes.subarray(0, 4).toString("latin1") === "GIF8") {
    return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  }
  if (bytes.subarray(8, 12).toString("latin1") === "WEBP") return webpSize(bytes);
  return bytes.readUInt16BE(0) === 0xffd8 ? jpegSize(bytes) : undefined;
}

function jpegSize(bytes: Buffer): Size | undefined {
  let at = 2;
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes.readUInt8(at + 1);
    // Start of frame, without the Huffman (C4), JPEG extension (C8) and arithmetic (CC) tables among them.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    }
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function webpSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 30) return undefined;
  const kind = bytes.subarray(12, 16).toString("latin1");
  if (kind === "VP8X") return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) };
  if (kind === "VP8 ")
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  const bits = bytes.readUInt32LE(21);
  return kind === "VP8L" ? { width: 1 + (bits & 0x3fff), height: 1 + ((bits >> 14) & 0x3fff) } : undefined;
}
