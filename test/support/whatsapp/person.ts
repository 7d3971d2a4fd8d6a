import type { BinaryNode, proto } from "@whiskeysockets/baileys";
import { Composer, type SayOptions, type Where } from "./composer.ts";
import type { LinkedDevice } from "./linked-device.ts";
import { newId } from "./nodes.ts";
import { callStanza, receiptStanza, retryStanza, typingStanza } from "./person-stanzas.ts";
import type { Restriction } from "./restrictions.ts";
import { SignalEndpoint } from "./signal-endpoint.ts";
import type { Shown, World } from "./world.ts";

export type PersonOptions = {
  /** Digits of the phone number. */
  readonly phone: string;
  /** Digits of what WhatsApp knows the person by. */
  readonly lid: string;
  readonly name: string;
};

export type Said = { readonly message: proto.IMessage; readonly options: SayOptions };

const RETRIES = 5; // as often as phones ask for a message again

/** A person with WhatsApp on a phone: a real Signal endpoint without a network of its own. */
export class Person {
  /** "15550000002@s.whatsapp.net" */
  readonly phone: string;
  /** "90000000000002@lid" */
  readonly lid: string;
  readonly name: string;
  readonly signal = new SignalEndpoint();
  /** What the phone shows, each id of a chat once. */
  readonly inbox: Shown[] = [];
  /** What the phone tells linked devices of the past. */
  history: proto.IConversation[] = [];
  /** With false the phone has no network: it confirms nothing, resends nothing, uploads no file anew. */
  reachable = true;
  /** Under what WhatsApp has put the account. */
  restriction: Restriction | undefined;
  readonly #world: World;
  readonly #composer = new Composer(this);
  readonly #arrivals = new Map<string, number>();
  readonly #shown = new Set<string>();
  readonly #said = new Map<string, Said>();
  readonly #retries = new Map<string, number>();

  constructor(world: World, { phone, lid, name }: PersonOptions) {
    this.#world = world;
    this.phone = `${phone.replace("+", "")}@s.whatsapp.net`;
    this.lid = `${lid}@lid`;
    this.name = name;
  }

  /** Says something to the account of `device`, in a group, or on the account's own phone; gives the message's id. */
  async say(device: LinkedDevice, what: proto.IMessage | string, options: SayOptions = {}): Promise<string> {
    const stanza = await this.compose(device, what, options);
    device.push(stanza);
    return stanza.attrs["id"] ?? "";
  }

  /** What `say` would hand to the device, for those who push it later, twice or in another order. */
  async compose(
    device: LinkedDevice,
    what: proto.IMessage | string,
    options: SayOptions = {},
  ): Promise<BinaryNode> {
    const message = typeof what === "string" ? { conversation: what } : what;
    const id = options.id ?? newId();
    this.#said.set(id, { message, options });
    return this.#composer.stanza(device, id, message, options);
  }

  /** What this person said under that id. */
  said(id: string): Said | undefined {
    return this.#said.get(id);
  }

  /** The phone got a retry receipt for what it said, and says it again under the same id. */
  async sayAgain(device: LinkedDevice, id: string): Promise<void> {
    const said = this.#said.get(id);
    const { corrupt } = said?.options ?? {};
    if (!said || corrupt === "always" || corrupt === "phone" || !this.reachable) return;
    device.push(await this.#composer.stanzaAgain(device, id, said.message, said.options));
  }

  async encrypt(device: LinkedDevice, message: proto.IMessage): Promise<BinaryNode> {
    if (!device.bundle) throw new Error("the linked device has not uploaded its keys yet");
    return this.signal.encrypt(device.lid, device.bundle, message);
  }

  /** How often a message of this id arrived, whether or not it could be shown. */
  arrivals(id: string): number {
    return this.#arrivals.get(id) ?? 0;
  }

  /** A message arrives on the phone, which shows it if it has not yet. */
  show(shown: Omit<Shown, "person">): void {
    const { id, chat } = shown;
    this.#arrivals.set(id, this.arrivals(id) + 1);
    if (this.#shown.has(`${chat}/${id}`)) return;
    this.#shown.add(`${chat}/${id}`);
    const complete = { ...shown, person: this };
    this.inbox.push(complete);
    this.#world.shown.add(complete);
  }

  /** A message arrives that cannot be decrypted; the phone asks for it again. */
  miss(device: LinkedDevice, id: string, where: Where): void {
    this.#arrivals.set(id, this.arrivals(id) + 1);
    if (this.reachable) this.askAgain(device, id, where);
  }

  /** Confirms messages of `device`: "read" or "played" by hand, that they arrived is confirmed by itself. */
  confirm(
    device: LinkedDevice,
    ids: readonly [string, ...string[]],
    where: Where & { readonly type?: "read" | "played" } = {},
  ): void {
    device.push(receiptStanza(this, ids, where));
  }

  /** Asks for a message of `device` again, a few times at most. */
  askAgain(device: LinkedDevice, id: string, where: Where = {}): void {
    const count = (this.#retries.get(id) ?? 0) + 1;
    this.#retries.set(id, count);
    if (count <= RETRIES) device.push(retryStanza(this, id, count, where));
  }

  types(device: LinkedDevice, state: "composing" | "recording" | "paused", where: Where = {}): void {
    device.tell(typingStanza(this, state, where));
  }

  /** Rings; gives the call's id. */
  call(device: LinkedDevice, { video = false }: { readonly video?: boolean } = {}): string {
    const id = newId();
    device.push(callStanza(this, id, "offer", video));
    return id;
  }

  /** Hangs up when nobody answers. */
  hangUp(device: LinkedDevice, callId: string, { video = false }: { readonly video?: boolean } = {}): void {
    device.push(callStanza(this, callId, "timeout", video));
  }
}
