import { proto } from "@whiskeysockets/baileys";
import { SealedRows, type SealedRowsParts } from "../keys/sealed-rows.ts";

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
  readonly #rows: SealedRows;

  constructor(parts: SealedRowsParts) {
    this.#rows = new SealedRows(parts);
  }

  /** @throws GatewayError "store.unavailable". */
  async find(id: string): Promise<Posted | undefined> {
    const key = keyOf(id);
    const row = (await this.#rows.find([key])).get(key);
    if (row === undefined) return undefined;
    const { message, ...rest } = row as Row; // as `keep` writes it
    return { ...rest, message: proto.Message.decode(Buffer.from(message, "base64")) };
  }

  async keep(id: string, { message, ...rest }: Posted): Promise<void> {
    const row: Row = {
      ...rest,
      message: Buffer.from(proto.Message.encode(message).finish()).toString("base64"),
    };
    await this.#rows.keep(new Map([[keyOf(id), row]]));
  }
}

type Row = Omit<Posted, "message"> & { readonly message: string };

function keyOf(id: string): string {
  return `sent/${id}`;
}
