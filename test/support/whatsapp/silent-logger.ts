import type { SocketConfig } from "@whiskeysockets/baileys";

/** Baileys' own log, to nowhere. */
export const SILENT: SocketConfig["logger"] = {
  level: "silent",
  child: () => SILENT,
  trace: () => {},
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};
