import {
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  jidNormalizedUser,
  S_WHATSAPP_NET,
} from "@whiskeysockets/baileys";
import type { Connection } from "./connection.ts";
import type { KeyBundle } from "./key-bundle.ts";
import { attr, newId, node, unixSeconds } from "./nodes.ts";
import type { Person } from "./person.ts";
import { Seen } from "./seen.ts";

/** How the client took a stanza that had waited for it: a receipt, an acknowledgement, or one with an error. */
export type Taken = { readonly stanza: BinaryNode; readonly error?: number };

type Queued = { readonly stanza: BinaryNode; connection: Connection | undefined };

/** The server's side of one linked companion: its keys and what waits for it until the client has taken it. */
export class LinkedDevice {
  readonly phone: Person;
  readonly number: number;
  /** What the client took, in order. */
  readonly taken = new Seen<Taken>();
  bundle: KeyBundle | undefined;
  #queue: Queued[] = [];
  #connection: Connection | undefined;
  #drained = new Set<() => void>();

  constructor(phone: Person, number: number) {
    this.phone = phone;
    this.number = number;
  }

  get pn(): string {
    return this.phone.phone.replace("@", `:${this.number}@`);
  }

  get lid(): string {
    return this.phone.lid.replace("@", `:${this.number}@`);
  }

  get online(): boolean {
    return this.#connection !== undefined;
  }

  /** What the client has not taken yet, in order. */
  get waiting(): readonly BinaryNode[] {
    return this.#queue.map(({ stanza }) => stanza);
  }

  /** A status that was delivered and not cleanly acknowledged: the server holds back everything behind it. */
  get heldBackBy(): BinaryNode | undefined {
    return this.#queue.find(({ stanza, connection }) => connection && isStatus(stanza))?.stanza;
  }

  /** Resolves once everything was taken. */
  whenDrained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#queue.length === 0) resolve();
      else this.#drained.add(resolve);
    });
  }

  /** Resolves once the client has taken the message of this id. */
  async whenTaken(id: string): Promise<Taken> {
    return this.taken.when(({ stanza }) => stanza.tag === "message" && stanza.attrs["id"] === id);
  }

  /** Delivers now, or when the client comes back, and again until the client has taken it. */
  push(stanza: BinaryNode): void {
    this.#queue.push({ stanza, connection: undefined });
    this.#pump();
  }

  /** Delivers once more what was taken already, as after an acknowledgement that the server lost. */
  pushAgain(id: string): void {
    const taken = this.taken.items.find(({ stanza }) => stanza.attrs["id"] === id);
    if (!taken) throw new Error("nothing of this id was taken yet");
    this.push(taken.stanza);
  }

  /** Tells the client that the server runs out of its keys; it uploads more. */
  askForPreKeys(): void {
    const count = node("count", { value: "0" });
    const attrs = { id: newId(), from: S_WHATSAPP_NET, type: "encrypt", t: String(unixSeconds()) };
    this.push(node("notification", attrs, [count]));
  }

  /** Delivers what nobody needs later, such as typing. */
  tell(stanza: BinaryNode): void {
    this.#connection?.send(stanza);
  }

  /** Delivers what waits, marked as offline; gives how many stanzas that were. */
  goOnline(connection: Connection): number {
    this.#connection = connection;
    return this.#pump("1");
  }

  goOffline(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    for (const queued of this.#queue) queued.connection = undefined;
  }

  /** A receipt, or an acknowledgement of the client's. */
  take(answer: BinaryNode): void {
    const error =
      answer.tag === "ack" && answer.attrs["error"] !== undefined ? Number(answer.attrs["error"]) : undefined;
    const of = answer.tag === "ack" ? attr(answer, "class") : "message";
    this.#queue = this.#queue.filter(({ stanza, connection }) => {
      if (!connection || stanza.tag !== of || !answers(answer, stanza)) return true;
      this.taken.add({ stanza, ...(error === undefined ? {} : { error }) });
      // WhatsApp takes a refusal for an answer, but not for a status: that blocks what is behind it.
      return error !== undefined && isStatus(stanza);
    });
    this.#pump();
    if (this.#queue.length > 0) return;
    for (const drained of this.#drained) drained();
    this.#drained.clear();
  }

  #pump(offline?: "1"): number {
    const connection = this.#connection;
    if (!connection) return 0;
    let delivered = 0;
    for (const queued of this.#queue) {
      if (!queued.connection) {
        queued.connection = connection;
        const { stanza } = queued;
        connection.send(offline ? { ...stanza, attrs: { ...stanza.attrs, offline } } : stanza);
        delivered += 1;
      }
      if (isStatus(queued.stanza)) break;
    }
    return delivered;
  }
}

function isStatus(stanza: BinaryNode): boolean {
  return stanza.tag === "status" || stanza.attrs["from"] === "status@broadcast";
}

function answers(answer: BinaryNode, stanza: BinaryNode): boolean {
  const items = getBinaryNodeChildren(getBinaryNodeChild(answer, "list"), "item");
  const ids = [answer, ...items].map(({ attrs }) => attrs["id"]);
  if (!ids.includes(stanza.attrs["id"])) return false;
  const { participant, to, recipient } = answer.attrs;
  if (participant && stanza.attrs["participant"] !== undefined)
    return jidNormalizedUser(participant) === jidNormalizedUser(stanza.attrs["participant"]);
  const chats = new Set(
    ["from", "recipient", "participant"].map((name) => jidNormalizedUser(stanza.attrs[name])),
  );
  return [to, recipient].some((jid) => jid !== undefined && chats.has(jidNormalizedUser(jid)));
}
