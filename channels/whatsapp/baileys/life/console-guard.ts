/** libsignal prints sessions with their private keys, Baileys what it fails at, both past any logger. */
const TALKERS = /[\\/]node_modules[\\/](?:libsignal|@whiskeysockets[\\/]baileys|whatsapp-rust-bridge)[\\/]/;
const METHODS = ["log", "info", "warn", "error", "debug", "trace", "dir"] as const;

let guarded = false;

/**
 * Keeps what these libraries print themselves off the terminal; what anybody else prints goes on. For the whole process,
 * and before the libraries are loaded.
 */
export function guardConsole(terminal: Console = globalThis.console): void {
  if (guarded && terminal === globalThis.console) return;
  guarded ||= terminal === globalThis.console;
  for (const method of METHODS) {
    const print = terminal[method].bind(terminal) as (...words: unknown[]) => void; // each takes anything
    const guard = (...words: unknown[]): void => {
      const called: { stack?: string } = {};
      Error.captureStackTrace(called, guard);
      // The line below the head is who called; whoever is called by a library in turn may print.
      const caller = called.stack?.split("\n", 2)[1] ?? "";
      if (!TALKERS.test(caller)) print(...words);
    };
    terminal[method] = guard;
  }
}
