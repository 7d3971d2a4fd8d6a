import { createHash, randomBytes } from "node:crypto";
import { isBaseMessage, type BaseMessage } from "@langchain/core/messages";
import { isDeltaSnapshot, DeltaSnapshot, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { BlobRef } from "../core/blocks.ts";
import type { MessageKey, StoredList, StoredMessage, StoredParts, StoredValue } from "../core/threads.ts";
import { copyMessage, isUnchanged, type CachedThread, type LoadedMessage } from "./thread-cache.ts";
import { isLong, park } from "./thread-media.ts";

/** What stands in a serialised value in the place of messages, under the value's mark. */
export type MessagePlace =
  | { readonly list: string }
  | { readonly items: readonly MessageKey[] }
  | { readonly one: MessageKey };

/** Where a message that is in memory is kept, and a copy of what it was then: middleware changes messages in place. */
export type Kept = {
  readonly thread: string;
  readonly key: MessageKey;
  readonly copy: BaseMessage;
  /** For messages that were written down here, and may not be in the store yet. */
  readonly row?: StoredMessage;
  /** Where it is the copy that is lent to one reader after the other. */
  readonly cached?: LoadedMessage;
};

// A shorter list costs as much as a reference to one.
const INLINE = 4;

/** Collects what a commit to one thread brings along. `trusting` builds on what is cached; the store checks it. */
export class Draft {
  readonly #thread: string;
  readonly #cached: CachedThread | undefined;
  readonly #kept: WeakMap<BaseMessage, Kept>;
  readonly #serde: SerializerProtocol;
  readonly #messages = new Map<MessageKey, StoredMessage>();
  readonly #lists = new Map<string, StoredList>();
  readonly #needs = { messages: new Set<MessageKey>(), lists: new Set<string>() };
  readonly #full = new Map<string, readonly MessageKey[]>();
  readonly blobs = new Map<BlobRef, Uint8Array>();
  rewritten = false;

  constructor(
    thread: string,
    cached: CachedThread | undefined,
    kept: WeakMap<BaseMessage, Kept>,
    serde: SerializerProtocol,
  ) {
    this.#thread = thread;
    this.#cached = cached;
    this.#kept = kept;
    this.#serde = serde;
  }

  get parts(): StoredParts {
    return {
      messages: [...this.#messages.values()],
      lists: [...this.#lists.values()],
      needs: { messages: [...this.#needs.messages], lists: [...this.#needs.lists] },
    };
  }

  /** The lists that the values of this draft mean, in full. */
  get lists(): ReadonlyMap<string, readonly MessageKey[]> {
    return this.#full;
  }

  /** `passing` values (pending writes) are gone after the next step: short lists are written where they stand. */
  async value(value: unknown, { passing }: { readonly passing: boolean }): Promise<StoredValue> {
    const mark = randomBytes(12).toString("base64url");
    const found: { messages: readonly BaseMessage[] | BaseMessage; place: Record<string, MessagePlace> }[] =
      [];
    const stripped = withoutMessages(value, new Set(), (messages) => {
      const place: Record<string, MessagePlace> = {};
      found.push({ messages, place });
      return place;
    });
    const lists: string[] = [];
    const messages: MessageKey[] = [];
    for (const { messages: said, place } of found) {
      const what = isMany(said) ? await this.#list(said, passing) : { one: await this.#one(said) };
      place[mark] = what;
      if ("list" in what) lists.push(what.list);
      else messages.push(...("one" in what ? [what.one] : what.items));
    }
    const [type, bytes] = await this.#serde.dumpsTyped(stripped);
    if (type !== "json") return { ...this.#bytes(type, bytes), mark: "", lists, messages };
    const parked = park(text(bytes), mark, this.blobs);
    return {
      type,
      mark: found.length > 0 ? mark : parked.mark,
      bytes: Buffer.from(parked.text),
      lists,
      messages,
    };
  }

  #bytes(type: string, bytes: Uint8Array): { readonly type: string; readonly bytes: Uint8Array } {
    if (!isLong(bytes)) return { type, bytes };
    const ref: BlobRef = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    this.blobs.set(ref, bytes);
    return { type: "blob", bytes: Buffer.from(ref) };
  }

  async #one(message: BaseMessage): Promise<MessageKey> {
    const { key, row } = this.#known(message) ?? (await this.#written(message));
    this.#bring(key, row);
    return key;
  }

  async #list(messages: readonly BaseMessage[], passing: boolean): Promise<MessagePlace> {
    const rows = new Map<MessageKey, StoredMessage | undefined>();
    const keys: MessageKey[] = [];
    for (const message of messages) {
      const { key, row } = this.#known(message) ?? (await this.#written(message));
      keys.push(key);
      rows.set(key, row);
    }
    const parent = this.#nearest(keys);
    const own = keys.slice(parent.keep);
    for (const key of own) this.#bring(key, rows.get(key));
    if (passing && own.length === keys.length && own.length <= INLINE) return { items: keys };
    if (own.length === 0 && parent.keep === parent.length && parent.id !== "") {
      if (!this.#lists.has(parent.id)) this.#needs.lists.add(parent.id);
      this.#full.set(parent.id, keys);
      return { list: parent.id };
    }
    const rest = { parent: parent.id, keep: parent.keep, own };
    const id = createHash("sha256").update(JSON.stringify(rest)).digest("base64url").slice(0, 22);
    if (parent.id !== "" && !this.#lists.has(parent.id)) this.#needs.lists.add(parent.id);
    if (parent.keep < parent.length || parent.id === "") this.rewritten = true;
    this.#lists.set(id, { id, ...rest });
    this.#full.set(id, keys);
    return { list: id };
  }

  /** The known list that begins most like this one. */
  #nearest(keys: readonly MessageKey[]): {
    readonly id: string;
    readonly keep: number;
    readonly length: number;
  } {
    let nearest = { id: "", keep: 0, length: 0 };
    for (const [id, known] of [...(this.#cached?.lists ?? []), ...this.#full]) {
      let keep = 0;
      while (keep < known.length && keep < keys.length && known[keep] === keys[keep]) keep += 1;
      const closer = keep > nearest.keep || (keep === nearest.keep && known.length < nearest.length);
      if (keep > 0 && closer) nearest = { id, keep, length: known.length };
    }
    return nearest;
  }

  #bring(key: MessageKey, row: StoredMessage | undefined): void {
    if (row) this.#messages.set(key, row);
    else if (!this.#messages.has(key)) this.#needs.messages.add(key);
  }

  #known(message: BaseMessage): Kept | undefined {
    const kept = this.#kept.get(message);
    if (kept?.thread !== this.#thread) return undefined;
    const unchanged = isUnchanged(message, kept.copy);
    // What is lent anew meanwhile is another run's.
    if (kept.cached?.lent === message) kept.cached.checked = unchanged;
    return unchanged && (this.#cached || kept.row) ? kept : undefined;
  }

  async #written(message: BaseMessage): Promise<Kept> {
    const whole = text((await this.#serde.dumpsTyped(message))[1]);
    const hash = createHash("sha256").update(whole).digest("base64url").slice(0, 22);
    const key: MessageKey = `${hash}:${message.id ?? ""}`;
    // A text cannot name its own hash, so nothing that it says can pass for a place.
    const parked = park(whole, `media ${hash}`, this.blobs);
    const row = { key, mark: parked.mark, body: Buffer.from(parked.text) };
    const kept = { thread: this.#thread, key, copy: copyMessage(message), row };
    this.#kept.set(message, kept);
    return kept;
  }
}

/** The value with `take`'s answers where messages and lists of messages stood. Copies only what has some in it. */
function withoutMessages(
  value: unknown,
  above: Set<object>,
  take: (messages: readonly BaseMessage[] | BaseMessage) => unknown,
): unknown {
  if (typeof value !== "object" || value === null || above.has(value)) return value;
  if (isBaseMessage(value)) return take(value);
  if (isMessages(value)) return take(value);
  above.add(value);
  try {
    return inside(value, (inner) => withoutMessages(inner, above, take));
  } finally {
    above.delete(value);
  }
}

/** Maps what is inside of the containers that the serialiser looks into. */
function inside(value: object, map: (inner: unknown) => unknown): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    const mapped = items.map(map);
    return mapped.some((item, index) => item !== items[index]) ? mapped : value;
  }
  if (value instanceof Map) {
    return new Map([...(value as Map<unknown, unknown>)].map(([key, item]) => [map(key), map(item)]));
  }
  if (value instanceof Set) return new Set([...(value as Set<unknown>)].map(map));
  if (isDeltaSnapshot(value)) return new DeltaSnapshot(map(value.value));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    const entries = Object.entries(value).map(([key, item]: [string, unknown]) => [key, map(item)] as const);
    const original: Readonly<Record<string, unknown>> = { ...value };
    return entries.some(([key, item]) => item !== original[key]) ? Object.fromEntries(entries) : value;
  }
  // A Send, a Command, an Overwrite: the serialiser writes down what it says of itself. LangChain's own objects are
  // left whole, since they are made again from what they say.
  if ("toJSON" in value && typeof value.toJSON === "function" && !("lc_serializable" in value)) {
    if (ArrayBuffer.isView(value) || value instanceof Date) return value;
    return map((value.toJSON as () => unknown)());
  }
  return value;
}

function isMessages(value: object): value is readonly BaseMessage[] {
  return Array.isArray(value) && value.length > 0 && value.every(isBaseMessage);
}

function isMany(said: readonly BaseMessage[] | BaseMessage): said is readonly BaseMessage[] {
  return Array.isArray(said);
}

function text(bytes: Uint8Array | string): string {
  return typeof bytes === "string"
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
