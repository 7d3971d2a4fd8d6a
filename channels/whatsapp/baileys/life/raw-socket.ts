import type { WASocket } from "@whiskeysockets/baileys";

/** The WebSocket below one of Baileys', which it does not show. */
export type RawSocket = {
  /** Says goodbye and waits for the other side's. */
  close(): void;
  /** Is gone at once. */
  terminate(): void;
};

/** Undefined once it is closed. */
export function rawOf({ ws }: WASocket): RawSocket | undefined {
  const { socket } = ws as unknown as { readonly socket: RawSocket | null }; // its WebSocketClient has it
  return socket ?? undefined;
}
