import { createHash } from "node:crypto";
import {
  type BinaryNode,
  BufferJSON,
  cleanMessage,
  decodeMessageNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  proto,
  unpadRandomMax16,
  type WAMessage,
  type WAMessageKey,
} from "@whiskeysockets/baileys";
import type { Journal } from "../../../../src/core/host.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import { isNotForUs, plain } from "../people/jids.ts";
import type { Me } from "../line.ts";
import type { Seal } from "../keys/seal.ts";

/** A message as the server handed it over, from before it is read until what it says is committed. */
export type Entry = {
  /**
   * Its stanzas by their row in the journal, each with the SHA-256 of what is encrypted in it. What is handed over again has
   * several, and what is sent again for somebody who could not read it has other ones.
   */
  readonly stanzas: Map<string, readonly string[]>;
  /** When it came, epoch ms; when it was loaded, where that was in an earlier process. */
  readonly since: number;
  /** To whom the account's own message went, as the server says; "" where it says nothing. */
  readonly recipient: string;
  readonly own: boolean;
  /** Its content is shown on the phone alone. */
  readonly viewOnce: boolean;
  /** It was found when the process began: the server may not know that it came, and hand it over again. */
  readonly found: boolean;
  /** When the library could not read it, epoch ms: senders are asked again since then. */
  failedAt?: number;
  /** Somebody is busy with it. */
  busy: boolean;
  /** What it says is committed. */
  done: boolean;
};

export type JournalledParts = {
  readonly journal: Journal;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly me: () => Me | undefined;
};

/**
 * The library tells the server that a message came before it hands it to us, and can read it only once: what is killed
 * in between would be lost. So both are on the disk before it goes on: the stanza, and what was read of it.
 */
export class Journalled {
  readonly #journal: Journal;
  readonly #seal: Seal;
  readonly #clock: Clock;
  readonly #me: () => Me | undefined;
  readonly #entries = new Map<string, Entry>();
  readonly #read = new Set<string>();
  /** Of stanzas that the disk has refused. */
  readonly #refused = new Set<string>();
  #row = 0;

  constructor({ journal, seal, clock, me }: JournalledParts) {
    this.#journal = journal;
    this.#seal = seal;
    this.#clock = clock;
    this.#me = me;
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * What an earlier process left. Gives how many rows cannot be opened, being damaged or sealed with another key: they stay
   * where they are. @throws GatewayError "store.unavailable".
   */
  load(): number {
    let closed = 0;
    for (const [key] of this.#journal.list(READ)) this.#read.add(key.slice(READ.length));
    for (const [row, sealed] of this.#journal.list(STANZAS)) {
      this.#row = Math.max(this.#row, Number(row.slice(STANZAS.length)));
      const node = this.#openNode(row, sealed);
      if (node) this.#enter(row, node, true);
      else closed += 1;
    }
    if (closed === 0) this.#dropStrays();
    return closed;
  }

  /** @throws GatewayError "store.unavailable"; then the message must not be read. */
  keep(node: BinaryNode): void {
    if (!isKept(node) || !this.#nameOf(node)) return;
    this.#row += 1;
    const row = `${STANZAS}${String(this.#row).padStart(15, "0")}`;
    const bytes = Buffer.from(JSON.stringify(node, BufferJSON.replacer));
    try {
      this.#journal.write({ [row]: Buffer.from(this.#seal.seal(bytes, row)) });
    } catch (error) {
      for (const hash of hashesIn(node)) this.#refused.add(hash);
      throw error;
    }
    this.#refused.clear();
    this.#enter(row, node, false);
  }

  /** @throws GatewayError "store.unavailable"; then its ratchet must not be turned. */
  keepRead(ciphertext: Uint8Array, read: Uint8Array): void {
    const hash = hashOf(ciphertext);
    const key = `${READ}${hash}`;
    this.#journal.write({ [key]: Buffer.from(this.#seal.seal(read, key)) });
    this.#read.add(hash);
  }

  /** @throws GatewayError "store.unavailable" where its stanza could not be kept. */
  readOf(ciphertext: Uint8Array): Uint8Array | undefined {
    const hash = hashOf(ciphertext);
    if (this.#refused.has(hash))
      throw new GatewayError("store.unavailable", "a message could not be journalled, so it is not read");
    return this.#readAt(hash);
  }

  /** Undefined for what was never on the line: what we sent, history, what the phone resent. */
  find(key: WAMessageKey): Entry | undefined {
    return this.#entries.get(nameIn(key));
  }

  /** In the order in which they came. */
  entries(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  /** Whether all of it was read, as it came at one time or another. */
  isRead(entry: Entry): boolean {
    return this.#readRow(entry) !== undefined;
  }

  /**
   * The message as the library would hand it over, without what could not be read; undefined where it is gone, or where no
   * message can be made of it.
   */
  message(entry: Entry): WAMessage | undefined {
    const me = this.#me();
    const row = this.#readRow(entry) ?? [...entry.stanzas.keys()].at(-1);
    const sealed = row === undefined ? undefined : this.#journal.read(row);
    const node = row === undefined || sealed === undefined ? undefined : this.#openNode(row, sealed);
    if (!node || !me || !this.#nameOf(node)) return undefined;
    const { fullMessage } = decodeMessageNode(node, me.pn, me.lid ?? "");
    for (const { content } of getBinaryNodeChildren(node, "enc")) {
      const read = content instanceof Uint8Array ? this.#readAt(hashOf(content)) : undefined;
      const message = read && decoded(read);
      if (message) fullMessage.message = Object.assign(fullMessage.message ?? {}, message);
    }
    cleanMessage(fullMessage, me.pn, me.lid ?? "");
    return fullMessage;
  }

  /** Takes them out of the journal, in one transaction. @throws GatewayError "store.unavailable". */
  remove(entries: readonly Entry[]): void {
    const keys = entries.flatMap((entry) => [
      ...entry.stanzas.keys(),
      ...hashesOf(entry).map((hash) => `${READ}${hash}`),
    ]);
    if (keys.length === 0) return;
    this.#journal.write(Object.fromEntries(keys.map((key) => [key, undefined])));
    const gone = new Set(entries);
    for (const [name, entry] of this.#entries) if (gone.has(entry)) this.#entries.delete(name);
    for (const hash of entries.flatMap(hashesOf)) this.#read.delete(hash);
  }

  #enter(row: string, node: BinaryNode, found: boolean): void {
    const name = this.#nameOf(node);
    const key = name === undefined ? undefined : nameIn(name);
    const before = key === undefined ? undefined : this.#entries.get(key);
    const entry: Entry = before ?? {
      stanzas: new Map(),
      since: this.#clock.now(),
      recipient: node.attrs["recipient"] ?? "",
      own: name?.fromMe ?? false,
      viewOnce: getBinaryNodeChild(node, "unavailable")?.attrs["type"]?.startsWith("view_once") ?? false,
      found,
      busy: false,
      done: false,
    };
    entry.stanzas.set(row, hashesIn(node));
    // What no message can be made of is kept under its row until it is swept up.
    this.#entries.set(key ?? row, entry);
  }

  #nameOf(node: BinaryNode): WAMessageKey | undefined {
    const me = this.#me();
    if (!me) return undefined;
    try {
      return decodeMessageNode(node, me.pn, me.lid ?? "").fullMessage.key;
    } catch {
      return undefined; // the library does not read it either
    }
  }

  /** The newest row of a stanza of which all was read. */
  #readRow({ stanzas }: Entry): string | undefined {
    const isRead = (hashes: readonly string[]): boolean =>
      hashes.length > 0 && hashes.every((hash) => this.#read.has(hash));
    return [...stanzas].findLast(([, hashes]) => isRead(hashes))?.[0];
  }

  #readAt(hash: string): Uint8Array | undefined {
    const key = `${READ}${hash}`;
    const sealed = this.#read.has(hash) ? this.#journal.read(key) : undefined;
    return sealed && this.#opened(key, sealed);
  }

  #openNode(row: string, sealed: Uint8Array): BinaryNode | undefined {
    const bytes = this.#opened(row, sealed);
    return bytes && (JSON.parse(bytes.toString("utf8"), BufferJSON.reviver) as BinaryNode); // as `keep` writes it
  }

  /** Undefined for what is damaged: one row must not hold up all that comes behind it. */
  #opened(key: string, sealed: Uint8Array): Buffer | undefined {
    try {
      return this.#seal.open(Buffer.from(sealed).toString(), key);
    } catch {
      return undefined;
    }
  }

  /** What was read of messages that are gone. */
  #dropStrays(): void {
    const wanted = new Set(this.entries().flatMap(hashesOf));
    const strays = [...this.#read].filter((hash) => !wanted.has(hash));
    if (strays.length === 0) return;
    this.#journal.write(Object.fromEntries(strays.map((hash) => [`${READ}${hash}`, undefined])));
    for (const hash of strays) this.#read.delete(hash);
  }
}

const STANZAS = "stanza/";
const READ = "plain/";

/** What has to do with other programs of Meta's, or with nobody, is not ours to keep. */
function isKept({ attrs, content }: BinaryNode): boolean {
  if (!Array.isArray(content) || isNotForUs(attrs["from"] ?? "")) return false;
  const unavailable = content.find(({ tag }) => tag === "unavailable")?.attrs["type"] ?? "";
  const enc = content.find(({ tag }) => tag === "enc")?.attrs["type"];
  return enc !== "msmsg" && !/^(?:bot|hosted)_/.test(unavailable);
}

function nameIn({ remoteJid, id, participant, fromMe }: WAMessageKey): string {
  return JSON.stringify([plain(remoteJid), id, fromMe ? "" : plain(participant)]);
}

/** Undefined for what is no message, upon which the library gives up as well. */
function decoded(read: Uint8Array): proto.IMessage | undefined {
  try {
    const message = proto.Message.decode(unpadRandomMax16(read));
    return message.deviceSentMessage?.message ?? message;
  } catch {
    return undefined;
  }
}

function hashesOf({ stanzas }: Entry): readonly string[] {
  return [...stanzas.values()].flat();
}

function hashesIn(node: BinaryNode): readonly string[] {
  return getBinaryNodeChildren(node, "enc").flatMap(({ content }) =>
    content instanceof Uint8Array ? [hashOf(content)] : [],
  );
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
