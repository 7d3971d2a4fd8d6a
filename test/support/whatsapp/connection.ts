import { type BinaryNode, type proto, S_WHATSAPP_NET } from "@whiskeysockets/baileys";
import type { WebSocket } from "ws";
import type { Authority } from "./authority.ts";
import { CodePairing } from "./code-pairing.ts";
import { initialHistory } from "./history.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { node, unixSeconds } from "./nodes.ts";
import { NoiseServer } from "./noise.ts";
import { referencesStanza } from "./pairing.ts";
import { answerQuery } from "./queries.ts";
import { takeReceipt } from "./receipts.ts";
import { takeMessage } from "./sends.ts";
import type { World } from "./world.ts";

/** One socket of a client, from the handshake to its end. */
export class Connection {
  readonly world: World;
  /** What the client registers with; undefined where it logged in. */
  registration: proto.ClientPayload.IDevicePairingRegistrationData | undefined;
  device: LinkedDevice | undefined;
  readonly codePairing = new CodePairing(this);
  readonly #socket: WebSocket;
  readonly #noise: NoiseServer;
  readonly #answers = new Map<string, (answer: BinaryNode) => void>();
  #received = Promise.resolve();
  #asked = 0;
  #silent = false;
  #active = false;

  constructor(world: World, authority: Authority, socket: WebSocket) {
    this.world = world;
    this.#socket = socket;
    this.#noise = new NoiseServer(authority, (bytes) => socket.send(bytes));
    const events = {
      opened: (payload: proto.IClientPayload) => this.#opened(payload),
      stanza: (stanza: BinaryNode) => this.#stanza(stanza),
    };
    socket.on("message", (bytes: Buffer) => {
      this.#received = this.#received
        .then(() => (this.#silent ? undefined : this.#noise.receive(bytes, events)))
        .catch((error: unknown) => {
          world.failures.push(error);
          this.cut();
        });
    });
    socket.on("error", (error) => void world.failures.push(error));
    socket.on("close", () => {
      world.connections.delete(this);
      this.device?.goOffline(this);
    });
  }

  /** Logged in, and given what waited. */
  get active(): boolean {
    return this.#active;
  }

  send(stanza: BinaryNode): void {
    if (!this.#silent && this.#socket.readyState === this.#socket.OPEN) this.#noise.send(stanza);
  }

  /** Sends a query and waits for the client's answer. */
  ask(xmlns: string, content: readonly BinaryNode[]): Promise<BinaryNode> {
    const id = `server-${++this.#asked}`;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      this.send(node("iq", { id, from: S_WHATSAPP_NET, type: "set", xmlns }, [...content]));
    });
  }

  reply(query: BinaryNode, content: readonly BinaryNode[] = [], type: "result" | "error" = "result"): void {
    const { id = "", to = S_WHATSAPP_NET } = query.attrs;
    this.send(node("iq", { id, from: to, type }, [...content]));
  }

  /** Sends a last stanza and hangs up. */
  end(stanza?: BinaryNode): void {
    if (stanza) this.send(stanza);
    this.#socket.close();
  }

  /** As when the network breaks. */
  cut(): void {
    this.#socket.terminate();
    this.#socket.resume(); // one that fell silent would not notice its own end
  }

  /** From now on nothing is read, answered or sent, and the connection stays open. */
  silence(): void {
    this.#silent = true;
    this.#socket.pause();
  }

  #opened(payload: proto.IClientPayload): void {
    const fault = this.world.faults.logins.meets(payload);
    switch (fault?.kind) {
      case "failure":
        return this.end(node("failure", { ...fault.attrs, reason: String(fault.reason), location: "test" }));
      case "cut":
        return this.cut();
      case "silence":
        return this.silence();
      case undefined:
        if (payload.devicePairingData) this.#register(payload.devicePairingData);
        else this.#logIn(payload);
    }
  }

  #register(registration: proto.ClientPayload.IDevicePairingRegistrationData): void {
    this.registration = registration;
    void this.ask("md", [referencesStanza(this.world.qrReferences)]);
  }

  #logIn({ username, device: number }: proto.IClientPayload): void {
    const device = this.world.device(`${String(username)}:${number}@s.whatsapp.net`);
    if (!device) return this.end(node("failure", { reason: "401", location: "test" }));
    for (const other of this.world.connections)
      if (other !== this && other.device === device)
        other.end(node("stream:error", {}, [node("conflict", { type: "replaced" })]));
    this.device = device;
    this.world.logins.add(device);
    this.send(node("success", { t: String(unixSeconds()), lid: device.lid, props: "1", location: "test" }));
  }

  /** The client is ready for what waits: its `<passive>` was answered. */
  async activate(): Promise<void> {
    const { device } = this;
    if (!device || this.#active) return;
    this.#active = true;
    const count = device.goOnline(this);
    this.send(node("ib", { from: S_WHATSAPP_NET }, [node("offline", { count: String(count) })]));
    await initialHistory(this.world, device);
  }

  async #stanza(stanza: BinaryNode): Promise<void> {
    this.world.stanzas.add(stanza);
    const { id = "", type, class: of } = stanza.attrs;
    if (stanza.tag === "iq" && (type === "result" || type === "error")) {
      this.#answers.get(id)?.(stanza);
      this.#answers.delete(id);
    } else if (stanza.tag === "iq") await answerQuery(this, stanza);
    else if (stanza.tag === "message") await takeMessage(this, stanza);
    else if (stanza.tag === "receipt") await takeReceipt(this, stanza);
    else if (stanza.tag === "ack" && of !== undefined) this.device?.take(stanza);
    else if (stanza.tag === "call")
      this.send(node("ack", { id, class: "call", from: stanza.attrs["to"] ?? "" }));
  }
}
