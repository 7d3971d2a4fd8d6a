import type { WASocket } from "@whiskeysockets/baileys";

/** One socket to WhatsApp. A socket is used once: each reconnect makes another. */
export type Line = {
  readonly socket: WASocket;
  /** Counts the sockets of this process. */
  readonly generation: number;
};

/** Hears a socket: called for each new one before it connects; what it gives back makes it stop. */
export type Hearing = (line: Line) => () => void;

/** Who we are: both addresses of the account without a device, "15550000001@s.whatsapp.net" and "9000…@lid". */
export type Me = { readonly pn: string; readonly lid?: string };

/** The account as sending and reading see it. */
export type Account = {
  /** The socket while it is open; undefined while there is none. */
  line(): Line | undefined;
  /** Undefined until the account is paired. */
  me(): Me | undefined;
};
