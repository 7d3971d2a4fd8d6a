import { createHash } from "node:crypto";
import type { Clock } from "../../../src/core/clock.ts";
import { GraphRefusal } from "./refusal.ts";

export type GraphFile = { readonly id: string; readonly type: string; readonly bytes: Buffer };

const URL_MS = 5 * 60_000;
const UPLOADED_MS = 30 * 24 * 3_600_000;
const RECEIVED_MS = 7 * 24 * 3_600_000;

const TYPES = new Set(
  (
    "audio/aac audio/mp4 audio/mpeg audio/amr audio/ogg audio/opus application/vnd.ms-powerpoint application/msword " +
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document " +
    "application/vnd.openxmlformats-officedocument.presentationml.presentation " +
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet application/pdf text/plain " +
    "application/vnd.ms-excel image/jpeg image/png image/webp video/mp4 video/3gpp"
  ).split(" "),
);

/** What was uploaded and what people have sent, by id, and the addresses at which it can be had for five minutes. */
export class GraphFiles {
  readonly #clock: Clock;
  readonly #files = new Map<string, GraphFile & { readonly until: number; readonly from: "us" | "person" }>();
  readonly #addresses = new Map<string, { readonly id: string; readonly until: number }>();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws GraphRefusal for a type that is not taken. */
  upload(type: string, bytes: Buffer): GraphFile {
    const [plain = ""] = type.split(";");
    if (!TYPES.has(plain))
      throw new GraphRefusal(
        400,
        100,
        `Param file must be a file with one of the following types: … '${type}'`,
      );
    return this.#add(plain, bytes, "us", UPLOADED_MS);
  }

  receive(type: string, bytes: Buffer): GraphFile {
    return this.#add(type, bytes, "person", RECEIVED_MS);
  }

  uploaded(id: string): GraphFile | undefined {
    const file = this.#files.get(id);
    return file?.from === "us" && file.until > this.#clock.now() ? file : undefined;
  }

  /** Meta forgets an upload before its time. */
  forget(id: string): void {
    this.#files.delete(id);
  }

  /** A path for five minutes. @throws GraphRefusal for an id that is not known, or not any more. */
  addressOf(id: string): { readonly path: string; readonly file: GraphFile } {
    const file = this.#files.get(id);
    if (!file || file.until <= this.#clock.now())
      throw new GraphRefusal(400, 100, `Unsupported get request. Object with ID '${id}' does not exist`, {
        subcode: 33,
      });
    const path = `/attachments/?mid=${id}&hash=h${++this.#count}`;
    this.#addresses.set(path, { id, until: this.#clock.now() + URL_MS });
    return { path, file };
  }

  /** Undefined where the address has run out. */
  at(path: string): GraphFile | undefined {
    const address = this.#addresses.get(path);
    return address && address.until > this.#clock.now() ? this.#files.get(address.id) : undefined;
  }

  /** All addresses that were given run out. */
  expire(): void {
    this.#addresses.clear();
  }

  #add(type: string, bytes: Buffer, from: "us" | "person", ms: number): GraphFile {
    const id = String(700_000_000_000_000 + ++this.#count);
    const file = { id, type, bytes, from, until: this.#clock.now() + ms };
    this.#files.set(id, file);
    return file;
  }
}

export function sha256Of(bytes: Uint8Array, as: "hex" | "base64"): string {
  return createHash("sha256").update(bytes).digest(as);
}
