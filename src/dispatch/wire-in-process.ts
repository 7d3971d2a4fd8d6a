import type { Log } from "../core/log.ts";
import { type Json, MESSAGE_BYTES, type Wire } from "../core/wire.ts";

/** The wire of one process: its own subscribers. */
export function inProcessWire(log: Log): Wire {
  const ends = new WireEnds(log);
  return {
    publish(topic, message) {
      const text = ends.textOf(topic, message);
      if (text !== undefined) ends.deliver(topic, text);
    },
    subscribe: (topic, handler) => ends.add(topic, handler),
    close: async () => ends.clear(),
  };
}

type Handler = (message: Json) => void;

/** The subscribers of a process. */
export class WireEnds {
  readonly #log: Log;
  readonly #handlers = new Map<string, Set<Handler>>();

  constructor(log: Log) {
    this.#log = log;
  }

  get topics(): readonly string[] {
    return [...this.#handlers.keys()];
  }

  /** A message as it goes over the wire; undefined, and a line in the log, where it is too large. */
  textOf(topic: string, message: Json): string | undefined {
    const text = JSON.stringify(message);
    const bytes = Buffer.byteLength(text);
    if (bytes <= MESSAGE_BYTES) return text;
    this.#log.warn(
      { topic, bytes, mostBytes: MESSAGE_BYTES },
      "a message between processes is too large and was left out",
    );
    return undefined;
  }

  add(topic: string, handler: Handler): () => void {
    const handlers = this.#handlers.get(topic) ?? new Set();
    this.#handlers.set(topic, handlers);
    const own: Handler = (message) => handler(message); // the same function may subscribe twice
    handlers.add(own);
    return () => {
      handlers.delete(own);
      if (handlers.size === 0 && this.#handlers.get(topic) === handlers) this.#handlers.delete(topic);
    };
  }

  /** Later, so that whoever publishes is not in the middle of something; each gets a copy of its own. */
  deliver(topic: string, text: string): void {
    queueMicrotask(() => {
      for (const handler of this.#handlers.get(topic) ?? []) {
        try {
          handler(JSON.parse(text) as Json); // textOf wrote it
        } catch (err) {
          this.#log.error({ topic, err }, "a message between processes was not taken up");
        }
      }
    });
  }

  clear(): void {
    this.#handlers.clear();
  }
}
