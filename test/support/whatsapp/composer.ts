import type { BinaryNode, proto } from "@whiskeysockets/baileys";
import type { Group } from "./group.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { node, unixSeconds } from "./nodes.ts";
import type { Person } from "./person.ts";
import { stanzaAttrs } from "./stanza-attrs.ts";

export type Addressing = "lid" | "pn";

/** Where a person does something: in a group, or with the account, under one form of their own address. */
export type Where = {
  readonly group?: Group;
  /** The group's own where it is left out, else "lid". */
  readonly addressing?: Addressing;
};

export type SayOptions = Where & {
  /** The message's id; made up where it is left out. */
  readonly id?: string;
  /** Whom the account's own person writes to on the phone; the device is told of it. */
  readonly to?: Person;
  /** "status@broadcast", or a broadcast list that the account is in. */
  readonly broadcast?: string;
  /** With false the stanza does not tell the other form of the address. */
  readonly alt?: boolean;
  /** When it was sent, in seconds since 1970. */
  readonly at?: number;
  /**
   * Cannot be decrypted: until the sender is asked again ("once"), but the account's phone can give it ("phone"),
   * or nobody can ("always").
   */
  readonly corrupt?: "once" | "phone" | "always";
  /** Comes as a notice that linked devices are not given it, such as "view_once". */
  readonly unavailable?: string;
  /** More attributes of the stanza, such as `offline: "0"`. */
  readonly attrs?: Readonly<Record<string, string>>;
};

/** Makes the stanzas by which the server brings what a person says to a linked device. */
export class Composer {
  readonly #person: Person;
  readonly #senderKeyHad = new Set<string>();

  constructor(person: Person) {
    this.#person = person;
  }

  async stanza(
    device: LinkedDevice,
    id: string,
    message: proto.IMessage,
    options: SayOptions,
  ): Promise<BinaryNode> {
    const content = await this.#content(device, message, options);
    if (options.corrupt) spoil(content.at(-1));
    return node("message", this.#attrs(id, message, options), content);
  }

  /** The same message once more in a new session, as after a retry receipt. */
  async stanzaAgain(
    device: LinkedDevice,
    id: string,
    message: proto.IMessage,
    options: SayOptions,
  ): Promise<BinaryNode> {
    const { signal } = this.#person;
    await signal.forget(device.lid);
    const place = senderKeyPlace(options);
    const key = place ? (await signal.encryptForGroup(place, this.#form(options), message)).senderKey : {};
    const content = await this.#person.encrypt(device, { ...this.#wrapped(message, options), ...key });
    return node("message", this.#attrs(id, message, options), [content]);
  }

  #form(where: Where): string {
    return formOf(this.#person, where);
  }

  async #content(device: LinkedDevice, message: proto.IMessage, options: SayOptions): Promise<BinaryNode[]> {
    if (options.unavailable !== undefined) return [node("unavailable", { type: options.unavailable })];
    const place = senderKeyPlace(options);
    if (place === undefined) return [await this.#person.encrypt(device, this.#wrapped(message, options))];
    const self = this.#form(options);
    const { enc, senderKey } = await this.#person.signal.encryptForGroup(place, self, message);
    const had = `${device.lid}/${place}/${self}`; // sender keys are of one form of the address
    if (this.#senderKeyHad.has(had)) return [enc];
    this.#senderKeyHad.add(had);
    return [await this.#person.encrypt(device, senderKey), enc];
  }

  #wrapped(message: proto.IMessage, { to, addressing }: SayOptions): proto.IMessage {
    if (!to) return message;
    return {
      deviceSentMessage: { destinationJid: formOf(to, addressing ? { addressing } : {}), message },
    };
  }

  #attrs(id: string, message: proto.IMessage, options: SayOptions): Record<string, string> {
    const form = this.#form(options);
    const place = options.group?.id ?? options.broadcast;
    const mode = form === this.#person.lid ? "lid" : "pn";
    const alt = mode === "lid" ? "pn" : "lid";
    const altOf = (person: Person): string => (alt === "pn" ? person.phone : person.lid);
    const { to } = options;
    return {
      id,
      t: String(options.at ?? unixSeconds()),
      notify: this.#person.name,
      addressing_mode: mode,
      ...stanzaAttrs(message),
      ...(place ? { from: place, participant: form } : { from: form }),
      ...(to ? { recipient: formOf(to, { addressing: mode }) } : {}),
      ...(options.alt === false
        ? {}
        : to
          ? { [`peer_recipient_${alt}`]: altOf(to) }
          : { [`${place ? "participant" : "sender"}_${alt}`]: altOf(this.#person) }),
      ...options.attrs,
    };
  }
}

export function formOf(person: Person, { group, addressing }: Where): string {
  return (addressing ?? group?.addressing ?? "lid") === "lid" ? person.lid : person.phone;
}

/** Where messages are encrypted once for all: groups and statuses, not broadcast lists. */
function senderKeyPlace({ group, broadcast }: SayOptions): string | undefined {
  return group?.id ?? (broadcast === "status@broadcast" ? broadcast : undefined);
}

/** Changes the last byte of an `<enc>`. */
function spoil(enc: BinaryNode | undefined): void {
  if (!(enc?.content instanceof Uint8Array)) throw new Error("there is nothing encrypted to spoil");
  const last = enc.content.length - 1;
  enc.content = Uint8Array.from(enc.content, (byte, at) => (at === last ? byte ^ 0xff : byte));
}
