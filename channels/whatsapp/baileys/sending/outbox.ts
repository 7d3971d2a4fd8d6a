import { proto } from "@whiskeysockets/baileys";
import type { ChannelState } from "../../../../src/core/host.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import type { Seal } from "../keys/seal.ts";

/** A message of ours, from before it is written on. */
export type Posted = {
  /** The chat as the gateway names it. */
  readonly chat: string;
  /** Where it goes: a person's or a group's address. */
  readonly jid: string;
  readonly message: proto.IMessage;
  /** When it was written first (epoch ms). */
  readonly at: number;
  /** How often it was written to a connection that said other things, but nothing of it. */
  readonly silences: number;
  readonly accepted: boolean;
  /** The message that has changed it. */
  readonly editedBy?: string;
};

/**
 * What we have sent, by message id. Devices that cannot read a message ask for it again, also days later and after a
 * restart; and whoever resends looks here for what the platform has taken already.
 */
export class Outbox {
  readonly #state: ChannelState;
  readonly #seal: Seal;
  readonly #clock: Clock;

  constructor(parts: { readonly state: ChannelState; readonly seal: Seal; readonly clock: Clock }) {
    this.#state = parts.state;
    this.#seal = parts.seal;
    this.#clock = parts.clock;
  }

  async find(id: string): Promise<Posted | undefined> {
    const key = keyOf(id);
    const sealed = (await this.#state.get([key])).get(key);
    if (sealed === undefined) return undefined;
    const { message, ...rest } = JSON.parse(Buffer.from(this.#seal.open(sealed, key)).toString()) as Row; // written below
    return { ...rest, message: proto.Message.decode(Buffer.from(message, "base64")) };
  }

  async keep(id: string, { message, ...rest }: Posted): Promise<void> {
    const row: Row = {
      ...rest,
      message: Buffer.from(proto.Message.encode(message).finish()).toString("base64"),
    };
    const key = keyOf(id);
    const sealed = this.#seal.seal(Buffer.from(JSON.stringify(row)), key);
    await this.#state.set({ [key]: sealed }, { until: this.#clock.now() + KEEP_MS });
  }
}

type Row = Omit<Posted, "message"> & { readonly message: string };

/** So long does WhatsApp keep what could not be delivered, and with it the questions of devices that come back. */
const KEEP_MS = 14 * 24 * 3_600_000;

function keyOf(id: string): string {
  return `sent/${id}`;
}
