import { randomInt } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { BinaryNode, proto } from "@whiskeysockets/baileys";
import { type WebSocket, WebSocketServer } from "ws";
import { Authority } from "./authority.ts";
import { Connection } from "./connection.ts";
import { Faults } from "./faults.ts";
import { changeGroup, type GroupChange } from "./group-changes.ts";
import { Group, type GroupOptions } from "./group.ts";
import { type HistoryKind, tellHistory } from "./history.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { MediaHost } from "./media-host.ts";
import { node } from "./nodes.ts";
import { link, readQr } from "./pairing.ts";
import { Person, type PersonOptions } from "./person.ts";
import { type Sent, type Shown, World } from "./world.ts";

export type WhatsAppOptions = {
  /** How many QR codes a client can show before it gives up; WhatsApp gives six. */
  readonly qrReferences?: number;
};

/**
 * A WhatsApp on this machine: the server, the phone of the account and of everybody else, and the media host.
 * The real library connects to it; Signal, Noise and media encryption are real at both ends.
 *
 *   const wa = await startWhatsApp();
 *   const untrust = wa.trust();                       // in child processes: trust-preload.mjs with WA_TEST_ROOT=wa.rootKeyHex
 *   const owner = await wa.addPerson({ phone: "15550000001", lid: "90000000000001", name: "Owner" });
 *   const bob = await wa.addPerson({ phone: "15550000002", lid: "90000000000002", name: "Bob" });
 *   // the client connects to wa.url, trusting wa.ca for media, and shows a QR code
 *   const device = await wa.scan(owner, qrText);      // then 515, login, history
 *   await bob.say(device, "hello", { id: "A1" });     // waits for the device if it is away
 *   const answer = await wa.waitForMessage(({ person }) => person === bob);
 *   wa.faults.messages.add({ kind: "reject", error: 463 });
 *   await wa.close();
 */
export async function startWhatsApp(options: WhatsAppOptions = {}): Promise<LoopbackWhatsApp> {
  const faults = new Faults();
  const media = await MediaHost.open(faults);
  const sockets = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise<void>((resolve) => sockets.once("listening", resolve));
  return new LoopbackWhatsApp(new World(faults, media, options.qrReferences ?? 6), sockets);
}

export class LoopbackWhatsApp {
  readonly url: string;
  readonly #world: World;
  readonly #sockets: WebSocketServer;
  readonly #authority = new Authority();
  readonly #untrust = new Set<() => void>();

  constructor(world: World, sockets: WebSocketServer) {
    this.#world = world;
    this.#sockets = sockets;
    const { port } = sockets.address() as AddressInfo; // listening on TCP, so neither a string nor null
    this.url = `ws://127.0.0.1:${port}/ws/chat`;
    sockets.on("connection", (socket: WebSocket) => {
      world.connections.add(new Connection(world, this.#authority, socket));
    });
  }

  /** The certificate of the media host, as PEM. */
  get ca(): string {
    return this.#world.media.ca;
  }

  /** What a child process needs as WA_TEST_ROOT. */
  get rootKeyHex(): string {
    return this.#authority.rootKeyHex;
  }

  get faults(): Faults {
    return this.#world.faults;
  }

  get media(): MediaHost {
    return this.#world.media;
  }

  /** The linked devices, in the order of their pairing. */
  get devices(): readonly LinkedDevice[] {
    return this.#world.devices;
  }

  /** How many sockets are open. */
  get connections(): number {
    return this.#world.connections.size;
  }

  /** Each login, the first after pairing among them. */
  get logins(): readonly LinkedDevice[] {
    return this.#world.logins.items;
  }

  /** What arrived on phones, each message once per phone. */
  get outbound(): readonly Shown[] {
    return this.#world.shown.items;
  }

  /** Every `<message>` that clients sent, and what became of it. */
  get sends(): readonly Sent[] {
    return this.#world.sends.items;
  }

  /** Everything that clients sent. */
  get nodes(): readonly BinaryNode[] {
    return this.#world.stanzas.items;
  }

  /** Makes sockets of this process trust this server, until it is closed or what it gives back is called. */
  trust(): () => void {
    const untrust = this.#authority.trust();
    this.#untrust.add(untrust);
    return () => {
      this.#untrust.delete(untrust);
      untrust();
    };
  }

  async addPerson(options: PersonOptions): Promise<Person> {
    const person = new Person(this.#world, options);
    await person.signal.fillPreKeys();
    this.#world.people.push(person);
    return person;
  }

  addGroup(options: GroupOptions): Group {
    const group = new Group(options.id ?? `120363${randomInt(1e11, 1e12)}@g.us`, options);
    this.#world.groups.set(group.id, group);
    return group;
  }

  /** Somebody changes a group; linked devices are told. */
  changeGroup(group: Group, by: Person, change: GroupChange): void {
    changeGroup(this.#world, group, by, change);
  }

  /** The phone of `device` tells it a part of its history, as when it comes bit by bit. */
  async tellHistory(
    device: LinkedDevice,
    kind: HistoryKind,
    conversations: proto.IConversation[],
  ): Promise<void> {
    await tellHistory(this.#world, device, kind, conversations);
  }

  /** The person scans the QR code that a client shows; resolves once the client was told to log in. */
  async scan(person: Person, qr: string): Promise<LinkedDevice> {
    const { identity, secret } = readQr(qr);
    const connection = this.#registering(({ registration }) =>
      identity.equals(Buffer.from(registration?.eIdent ?? [])),
    );
    return link(connection, person, secret);
  }

  /** The person whose number a client gave types the code that it shows. */
  async typeCode(code: string): Promise<LinkedDevice> {
    return this.#registering(({ codePairing }) => codePairing.person !== undefined).codePairing.type(code);
  }

  /** The first message that matches, of those that arrived on phones or else of those that will. */
  waitForMessage(matches: (shown: Shown) => boolean): Promise<Shown> {
    return this.#world.shown.when(matches);
  }

  waitForMessages(count: number, matches?: (shown: Shown) => boolean): Promise<readonly Shown[]> {
    return this.#world.shown.whenCount(count, matches);
  }

  waitForSend(matches: (sent: Sent) => boolean): Promise<Sent> {
    return this.#world.sends.when(matches);
  }

  waitForNode(matches: (stanza: BinaryNode) => boolean): Promise<BinaryNode> {
    return this.#world.stanzas.when(matches);
  }

  /** Breaks all connections, as a network does. */
  cut(): void {
    for (const connection of this.#world.connections) connection.cut();
  }

  /** All connections stay open, and nothing comes over them any more. */
  silence(): void {
    for (const connection of this.#world.connections) connection.silence();
  }

  /** A phone logs its linked device out (401, device_removed). */
  unlink(device: LinkedDevice): void {
    this.#world.unlink(device);
  }

  /** Ends all connections with a `<stream:error>`, such as { code: "503" }. */
  streamError(attrs: BinaryNode["attrs"] = {}, reason?: BinaryNode): void {
    for (const connection of this.#world.connections)
      connection.end(node("stream:error", attrs, reason ? [reason] : undefined));
  }

  /** Sends any stanza to all that are logged in. */
  tell(stanza: BinaryNode): void {
    for (const connection of this.#world.connections) if (connection.active) connection.send(stanza);
  }

  /** @throws AggregateError of what went wrong in the server itself. */
  async close(): Promise<void> {
    for (const untrust of this.#untrust) untrust();
    this.cut();
    await new Promise<void>((resolve) => this.#sockets.close(() => resolve()));
    await this.#world.media.close();
    const { failures } = this.#world;
    if (failures.length > 0) throw new AggregateError(failures, "the loopback WhatsApp failed");
  }

  #registering(matches: (connection: Connection) => boolean): Connection {
    const found = [...this.#world.connections].find(
      (connection) => connection.registration && matches(connection),
    );
    if (!found) throw new Error("no client waits for this code");
    return found;
  }
}
