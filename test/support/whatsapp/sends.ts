import {
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  jidDecode,
  type proto,
} from "@whiskeysockets/baileys";
import type { Where } from "./composer.ts";
import type { Connection } from "./connection.ts";
import type { MessageFault } from "./faults.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { attr, child, node, unixSeconds } from "./nodes.ts";
import { takePeerRequest } from "./peer-requests.ts";
import type { Person } from "./person.ts";
import type { Sent, World } from "./world.ts";

/** Takes a `<message>` of the client's: to phones, and the acknowledgement back. */
export async function takeMessage(connection: Connection, stanza: BinaryNode): Promise<void> {
  const { world, device } = connection;
  if (!device) return connection.cut();
  const fault = world.faults.messages.meets(stanza) ?? refusal(world, device, stanza);
  const sending = new Sending(world, device, stanza);
  if (reaches(fault)) await sending.deliver(fault?.kind === "unreadable");
  const conclude = (outcome: Sent["outcome"], error?: number): void => {
    const { id = "", to = "" } = stanza.attrs;
    const failed = error === undefined ? {} : { error };
    world.sends.add({ id, to, stanza, people: [...sending.reached], outcome, ...failed });
    if (outcome !== "lost") connection.send(acknowledgement(stanza, error));
  };
  switch (fault?.kind) {
    case "reject":
      conclude("rejected", fault.error);
      return sending.show();
    case "cut":
      conclude("lost");
      sending.show();
      return connection.cut();
    case "noAck":
      conclude("lost");
      return sending.show();
    case "late":
      sending.show();
      void fault.until.finally(() => {
        conclude("accepted");
        sending.confirm();
      });
      return;
    case "unreadable":
    case undefined:
      conclude("accepted");
      sending.confirm();
      // Last, so that a test that has seen it on the phone can read it: after it arrived.
      sending.show();
  }
}

function reaches(fault: MessageFault | undefined): boolean {
  switch (fault?.kind) {
    case "reject":
      return fault.delivered === true;
    case "noAck":
      return fault.delivered;
    case "cut":
      return fault.when === "after";
    case "late":
    case "unreadable":
    case undefined:
      return true;
  }
}

/** What the server itself refuses: groups the account may not write to, or not under this form of the address. */
function refusal(world: World, device: LinkedDevice, stanza: BinaryNode): MessageFault | undefined {
  const to = attr(stanza, "to");
  if (!to.endsWith("@g.us")) return undefined;
  const group = world.groups.get(to);
  if (!group?.members.has(device.phone)) return { kind: "reject", error: 403 };
  if (group.announce && !group.admins.has(device.phone)) return { kind: "reject", error: 403 };
  const { addressing_mode: mode = group.addressing } = stanza.attrs;
  return mode === group.addressing ? undefined : { kind: "reject", error: 421 };
}

function acknowledgement(stanza: BinaryNode, error: number | undefined): BinaryNode {
  return node("ack", {
    class: "message",
    id: attr(stanza, "id"),
    from: attr(stanza, "to"),
    t: String(unixSeconds()),
    ...(error === undefined ? {} : { error: String(error) }),
  });
}

/** One message on its way to the phones that it is encrypted for. */
class Sending {
  readonly reached = new Set<Person>();
  readonly #shown: (() => void)[] = [];
  readonly #missed = new Set<Person>();
  readonly #world: World;
  readonly #device: LinkedDevice;
  readonly #stanza: BinaryNode;

  constructor(world: World, device: LinkedDevice, stanza: BinaryNode) {
    this.#world = world;
    this.#device = device;
    this.#stanza = stanza;
  }

  async deliver(unreadable: boolean): Promise<void> {
    const encs = getBinaryNodeChildren(this.#stanza, "enc");
    const forGroup = encs.find(({ attrs }) => attrs["type"] === "skmsg");
    for (const { person, enc } of this.#parts(encs.find((other) => other !== forGroup)))
      await this.#read(person, unreadable, async () => {
        const message = await person.signal.decrypt(this.#device.lid, enc);
        const key = message.senderKeyDistributionMessage;
        if (key) await person.signal.takeSenderKey(this.#author(), key);
        return forGroup ? undefined : message;
      });
    if (!forGroup) return;
    const group = attr(this.#stanza, "to");
    for (const person of this.#world.groups.get(group)?.members ?? [])
      await this.#read(person, unreadable, () =>
        person.signal.decryptFromGroup(group, this.#author(), forGroup),
      );
  }

  /** The phones tell the sender that they have it, or ask for it again. */
  confirm(): void {
    const id = attr(this.#stanza, "id");
    for (const person of this.reached)
      if (this.#missed.has(person)) person.miss(this.#device, id, this.#where());
      else if (person.reachable && person !== this.#device.phone)
        person.confirm(this.#device, [id], this.#where());
  }

  /** On the phones that could read it. */
  show(): void {
    for (const show of this.#shown.splice(0)) show();
  }

  /** What is for one phone each; a message to one phone alone has no list of participants. */
  #parts(direct: BinaryNode | undefined): { readonly person: Person; readonly enc: BinaryNode }[] {
    const { to = "", participant } = this.#stanza.attrs;
    const listed = direct
      ? [node("to", { jid: participant ?? to }, [direct])]
      : getBinaryNodeChildren(getBinaryNodeChild(this.#stanza, "participants"), "to");
    return listed.flatMap((part) => {
      const jid = attr(part, "jid");
      const person = this.#world.person(jid);
      return person && !jidDecode(jid)?.device ? [{ person, enc: child(part, "enc") }] : [];
    });
  }

  async #read(
    person: Person,
    unreadable: boolean,
    decrypt: () => Promise<proto.IMessage | undefined>,
  ): Promise<void> {
    const message = await decrypt().catch(() => "unreadable" as const);
    if (message === undefined) return;
    if (this.#stanza.attrs["category"] === "peer") {
      if (message !== "unreadable")
        await takePeerRequest(this.#world, this.#device, attr(this.#stanza, "id"), message);
      return;
    }
    this.reached.add(person);
    if (unreadable || message === "unreadable") this.#missed.add(person);
    else this.#shown.push(() => this.#showOn(person, message));
  }

  #showOn(person: Person, message: proto.IMessage): void {
    const { id = "", to: chat = "" } = this.#stanza.attrs;
    const own = message.deviceSentMessage;
    person.show({
      id,
      chat: own?.destinationJid ?? chat,
      message: own?.message ?? message,
      fromMe: person === this.#device.phone,
      stanza: this.#stanza,
    });
  }

  #author(): string {
    return this.#stanza.attrs["addressing_mode"] === "pn" ? this.#device.pn : this.#device.lid;
  }

  /** Where receipts about the message come from. */
  #where(): Where {
    const to = attr(this.#stanza, "to");
    const group = this.#world.groups.get(to);
    return group ? { group } : { addressing: to.endsWith("@lid") ? "lid" : "pn" };
  }
}
