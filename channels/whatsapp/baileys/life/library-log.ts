import type { SocketConfig } from "@whiskeysockets/baileys";
import type { Clock } from "../../../../src/core/clock.ts";
import type { Log, LogFields } from "../../../../src/core/log.ts";

const WINDOW_MS = 60_000;
/** Lines of one sentence in a minute. */
const SAME = 3;
/** Lines in a minute, whatever they say. */
const ALL = 30;
const SENTENCE_LENGTH = 200;

/**
 * What Baileys logs as a fault or a warning, without what it logs beside it: keys, stanzas, addresses and texts stand in its fields, so
 * none is passed on but what an error is called. Its faults are ours to tell of where they lead to something, and among them are
 * steps of every pairing: they stand at "debug". A flood is counted rather than written.
 */
export function libraryLog(log: Log, clock: Clock): SocketConfig["logger"] {
  const own = log.with({ library: "baileys" });
  let since = clock.now();
  let lines = 0;
  let untold = 0;
  const told = new Map<string, number>();

  function write(fields: unknown, words: string | undefined): void {
    const now = clock.now();
    if (now - since >= WINDOW_MS) {
      if (untold > 0) own.debug({ lines: untold, seconds: WINDOW_MS / 1000 }, "more of the same was said");
      since = now;
      lines = 0;
      untold = 0;
      told.clear();
    }
    const sentence = withoutNumbers(typeof fields === "string" ? fields : (words ?? "it names no reason"));
    const times = told.get(sentence) ?? 0;
    if (times >= SAME || lines >= ALL) {
      untold += 1;
      return;
    }
    told.set(sentence, times + 1);
    lines += 1;
    own.debug(errorIn(fields), sentence);
  }

  const logger: SocketConfig["logger"] = {
    // It writes more than what it logs at lower levels: whole stanzas at "trace".
    level: "warn",
    child: () => logger,
    trace() {},
    debug() {},
    info() {},
    warn: write,
    error: write,
  };
  return logger;
}

/** Under which names Baileys logs what it caught. */
const ERRORS: ReadonlySet<string> = new Set(["err", "error", "e", "uploadError", "trace"]);

function errorIn(fields: unknown): LogFields {
  if (typeof fields !== "object" || fields === null) return {};
  if (fields instanceof Error) return { fault: nameOf(fields) };
  const found = Object.entries(fields).find(([key]) => ERRORS.has(key))?.[1];
  return found instanceof Error ? { fault: nameOf(found) } : {};
}

function nameOf({ name, message }: Error): string {
  return withoutNumbers(`${name}: ${message}`);
}

/** Without numbers of people, groups and messages, without keys, and without what is quoted: it may be somebody's words. */
function withoutNumbers(words: string): string {
  return words
    .slice(0, SENTENCE_LENGTH)
    .replaceAll(/"[^"]*"?|'[^']*'|`[^`]*`/g, "…")
    .replaceAll(/[\w+/=-]*\d{4}[\w+/=-]*|[\w+/=-]{22,}/g, "…");
}
