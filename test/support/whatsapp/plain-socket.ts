import { Agent } from "node:https";
import {
  type BaileysEventMap,
  initAuthCreds,
  makeCacheableSignalKeyStore,
  makeWASocket,
  type proto,
  type SocketConfig,
  type WAMessage,
  type WASocket,
} from "@whiskeysockets/baileys";
import type { LinkedDevice } from "./linked-device.ts";
import type { LoopbackWhatsApp } from "./loopback.ts";
import { memoryKeys } from "./memory-keys.ts";
import type { Person } from "./person.ts";
import { Seen } from "./seen.ts";
import { SILENT } from "./silent-logger.ts";

export type Received = WAMessage & { readonly upsert: "notify" | "append" };

/** The library as it comes, against the loopback WhatsApp: sockets one after the other with the same keys in memory. */
export class PlainSocket {
  readonly received = new Seen<Received>();
  readonly updates = new Seen<Partial<BaileysEventMap>>();
  /** The status code of each close. */
  readonly closes = new Seen<number>();
  readonly qrs = new Seen<string>();
  readonly #wa: LoopbackWhatsApp;
  readonly #config: Partial<SocketConfig>;
  readonly #creds = initAuthCreds();
  readonly #keys = memoryKeys();
  #socket: WASocket | undefined;

  constructor(wa: LoopbackWhatsApp, config: Partial<SocketConfig> = {}) {
    this.#wa = wa;
    this.#config = config;
  }

  get socket(): WASocket {
    if (!this.#socket) throw new Error("no socket was opened");
    return this.#socket;
  }

  /** Begins a socket; what becomes of it is in `closes`, `qrs` and `updates`. */
  begin(): WASocket {
    const socket = makeWASocket({
      auth: { creds: this.#creds, keys: makeCacheableSignalKeyStore(this.#keys, SILENT) },
      waWebSocketUrl: this.#wa.url,
      logger: SILENT,
      fetchAgent: new Agent({ ca: this.#wa.ca }),
      markOnlineOnConnect: false,
      syncFullHistory: false,
      ...this.#config,
    });
    this.#socket = socket;
    socket.ev.process((events) => this.#heard(events));
    return socket;
  }

  /** Resolves when the connection is open; a restart (515) before that is followed. @throws the error of any other close */
  open(): Promise<void> {
    const socket = this.begin();
    return new Promise((resolve, reject) => {
      let opened = false;
      socket.ev.on("connection.update", ({ connection, lastDisconnect }) => {
        if (connection === "open") resolve();
        opened ||= connection === "open";
        if (connection !== "close" || opened) return;
        if (statusOf(lastDisconnect?.error) === 515) this.open().then(resolve, reject);
        else reject(lastDisconnect?.error ?? new Error("closed"));
      });
    });
  }

  /** Pairs by a QR code that `person` scans; resolves when the connection is open. */
  async pair(person: Person): Promise<LinkedDevice> {
    const opened = this.open();
    const device = await this.#wa.scan(person, await this.qrs.when(() => true));
    await opened;
    return device;
  }

  message(id: string): Promise<Received> {
    return this.received.when(
      ({ key, message }) => key.id === id && message !== undefined && message !== null,
    );
  }

  /** Resolves when a message of ours has this status , which the library tells in two places. */
  async whenStatus(id: string, status: proto.WebMessageInfo.Status): Promise<void> {
    await this.updates.when(
      ({ "messages.update": updates = [], "messages.upsert": upsert }) =>
        updates.some(({ key, update }) => key.id === id && update.status === status) ||
        Boolean(upsert?.messages.some((message) => message.key.id === id && message.status === status)),
    );
  }

  /** Ends the socket without logging out. */
  close(): void {
    void this.#socket?.end(undefined); // what becomes of it is in `closes`
  }

  #heard(events: Partial<BaileysEventMap>): void {
    this.updates.add(events);
    const { "messages.upsert": upsert, "connection.update": update } = events;
    for (const message of upsert?.messages ?? [])
      this.received.add(Object.assign(message, { upsert: upsert?.type ?? "notify" }));
    if (update?.qr !== undefined) this.qrs.add(update.qr);
    if (update?.connection === "close") this.closes.add(statusOf(update.lastDisconnect?.error));
  }
}

/** The code that a close has, 0 where it has none. */
export function statusOf(error: Error | undefined): number {
  return error && "output" in error ? (error.output as { statusCode: number }).statusCode : 0; // a Boom
}
