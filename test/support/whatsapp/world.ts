import { type BinaryNode, jidDecode, type proto } from "@whiskeysockets/baileys";
import type { Connection } from "./connection.ts";
import type { Faults } from "./faults.ts";
import type { Group } from "./group.ts";
import type { LinkedDevice } from "./linked-device.ts";
import type { MediaHost } from "./media-host.ts";
import { node } from "./nodes.ts";
import type { Person } from "./person.ts";
import { Seen } from "./seen.ts";

/** A message on somebody's phone. */
export type Shown = {
  readonly id: string;
  readonly person: Person;
  /** The chat as the client addressed it. */
  readonly chat: string;
  readonly message: proto.IMessage;
  /** What the account's own phone has of what was sent: with `fromMe`, the content of deviceSentMessage. */
  readonly fromMe: boolean;
  readonly stanza: BinaryNode;
};

/** A `<message>` of the client's, and what became of it. */
export type Sent = {
  readonly id: string;
  readonly to: string;
  readonly stanza: BinaryNode;
  /** Whose phones it reached. */
  readonly people: readonly Person[];
  /** "lost": the connection broke before it was acknowledged, or it never was. */
  readonly outcome: "accepted" | "rejected" | "lost";
  readonly error?: number;
};

/** All that this WhatsApp knows. */
export class World {
  readonly people: Person[] = [];
  readonly groups = new Map<string, Group>();
  readonly devices: LinkedDevice[] = [];
  readonly connections = new Set<Connection>();
  readonly faults: Faults;
  readonly media: MediaHost;
  /** Everything that clients sent. */
  readonly stanzas = new Seen<BinaryNode>();
  /** Who logged in, in order. */
  readonly logins = new Seen<LinkedDevice>();
  readonly sends = new Seen<Sent>();
  readonly shown = new Seen<Shown>();
  /** What went wrong in the server itself; a test that closes it fails with them. */
  readonly failures: unknown[] = [];
  /** How many references a client that registers is given for its QR codes. */
  readonly qrReferences: number;
  #deviceNumber = 2;

  constructor(faults: Faults, media: MediaHost, qrReferences: number) {
    this.faults = faults;
    this.media = media;
    this.qrReferences = qrReferences;
  }

  nextDeviceNumber(): number {
    return this.#deviceNumber++;
  }

  /** Whose address this is, in any form. */
  person(jid: string): Person | undefined {
    const decoded = jidDecode(jid);
    return (
      decoded &&
      this.people.find(
        ({ phone, lid }) => (decoded.server === "lid" ? lid : phone).split("@")[0] === decoded.user,
      )
    );
  }

  /** The linked device at this address, or undefined where it is a phone. */
  device(jid: string): LinkedDevice | undefined {
    const number = jidDecode(jid)?.device;
    const phone = this.person(jid);
    return this.devices.find((device) => device.phone === phone && device.number === number);
  }

  devicesOf(person: Person): readonly LinkedDevice[] {
    return this.devices.filter(({ phone }) => phone === person);
  }

  /** The phone logs a linked device out, or it logs out itself. */
  unlink(device: LinkedDevice): void {
    this.devices.splice(this.devices.indexOf(device), 1);
    for (const connection of this.connections)
      if (connection.device === device)
        connection.end(node("stream:error", { code: "401" }, [node("conflict", { type: "device_removed" })]));
  }
}
