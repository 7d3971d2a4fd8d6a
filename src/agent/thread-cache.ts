import type { BaseMessage } from "@langchain/core/messages";
import type { MessageKey, StoredMessage } from "../core/threads.ts";

// About 35 MB: a cached message of a chat's usual length was measured at 5.7 KB.
const CACHED_MESSAGES = 6_000;
/** A state seldom has more than one long list of messages; branches of it are made while tools run side by side. */
const CACHED_LISTS = 8;

/**
 * Messages and lists of the threads that were used last. Both are named by a hash of what they are, so what another
 * process writes can make an entry superfluous but never wrong, and nothing has to be compared to trust one.
 */
export class ThreadCache {
  readonly #threads = new Map<string, CachedThread>();

  of(thread: string): CachedThread {
    const cached = this.#threads.get(thread) ?? new CachedThread();
    this.#threads.delete(thread);
    this.#threads.set(thread, cached);
    return cached;
  }

  forget(thread: string): void {
    this.#threads.delete(thread);
  }

  /** Lets go of the threads that were used longest ago. */
  trim(): void {
    let count = 0;
    for (const [thread, cached] of [...this.#threads].toReversed()) {
      count += cached.messages.size + cached.lists.size;
      if (count > CACHED_MESSAGES) this.#threads.delete(thread);
    }
  }
}

export class CachedThread {
  readonly messages = new Map<MessageKey, CachedMessage>();
  /** What was read only to be looked at, until a graph is begun with it or something is committed. */
  glance:
    | { readonly checkpoint: string; readonly writes: number; readonly values: readonly unknown[] }
    | undefined;
  /** By id, the one used last at the end. */
  readonly lists = new Map<string, readonly MessageKey[]>();

  remember(id: string, keys: readonly MessageKey[]): void {
    this.lists.delete(id);
    this.lists.set(id, keys);
    const oldest = this.lists.keys().next();
    if (this.lists.size > CACHED_LISTS && !oldest.done) this.lists.delete(oldest.value);
  }
}

/** As messages with media are kept: how they are shown depends on how old they are by then. */
export type CachedMessage = LoadedMessage | { readonly human: boolean; readonly stored: StoredMessage };

/**
 * A message as it is on the disk, and the copy that was handed out. A copy is `checked` from the end of a run, whose
 * commit compares what it writes, until it is handed out again.
 */
export type LoadedMessage = {
  readonly human: boolean;
  readonly message: BaseMessage;
  lent?: BaseMessage;
  checked?: boolean;
};

/** All the way down, but for what is neither a list nor a plain object. */
export function copyMessage(message: BaseMessage): BaseMessage {
  const copies = new Map<object, unknown>();
  // The prototype is the message's own, and so are the properties that follow.
  const copy = Object.assign(Object.create(Object.getPrototypeOf(message)) as BaseMessage, message);
  for (const [key, value] of Object.entries(copy)) {
    if (typeof value === "object" && value !== null) Object.assign(copy, { [key]: copyPlain(value, copies) });
  }
  return copy;
}

function copyPlain(value: unknown, copies: Map<object, unknown>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) {
    const copy: unknown[] = [];
    copies.set(value, copy);
    for (const item of value) copy.push(copyPlain(item, copies));
    return copy;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy: Record<string, unknown> = {};
  copies.set(value, copy);
  for (const [key, item] of Object.entries(value)) copy[key] = copyPlain(item, copies);
  return copy;
}

// What a message was made of, and the name of its class; what is written down stands in its own properties.
const ASIDE: ReadonlySet<string> = new Set(["lc_kwargs", "lc_namespace"]);

/** Whether a message is still what its copy is. Half a microsecond; writing it down again takes forty. */
export function isUnchanged(message: BaseMessage, copy: BaseMessage): boolean {
  return isSameObject(message, copy, ASIDE);
}

function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (!Array.isArray(left)) return !Array.isArray(right) && isSameObject(left, right);
  if (!Array.isArray(right) || left.length !== right.length) return false;
  return left.every((item, index) => isSame(item, right[index]));
}

function isSameObject(left: object, right: object, aside?: ReadonlySet<string>): boolean {
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  const [one, other] = [left as Fields, right as Fields];
  for (const key of keys) {
    const [value, copied] = [one[key], other[key]];
    if (value !== copied && !aside?.has(key) && !isSame(value, copied)) return false;
  }
  return true;
}

type Fields = Readonly<Record<string, unknown>>;
