import type { BaseMessage } from "@langchain/core/messages";
import { DeltaSnapshot, isDeltaSnapshot, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Blobs } from "../core/agent.ts";
import type { BlobRef } from "../core/blocks.ts";
import { GatewayError, hasCode } from "../core/errors.ts";
import type { MessageKey, StoredMessage, StoredValue, ThreadStore } from "../core/threads.ts";
import {
  copyMessage,
  isUnchanged,
  type CachedMessage,
  type CachedThread,
  type LoadedMessage,
} from "./thread-cache.ts";
import type { Kept, MessagePlace } from "./thread-draft.ts";
import { inWords, unpark } from "./thread-media.ts";

const TAIL = 16;

export type ReaderPorts = {
  readonly store: ThreadStore;
  readonly blobs: Blobs;
  readonly serde: SerializerProtocol;
  readonly kept: WeakMap<BaseMessage, Kept>;
  /** Media of the last so many messages of a person come back as media, older ones as words. */
  readonly mediaTurns: number;
};

/** The values of one checkpoint, as nobody else has them. A message that several values mean is one object in all. */
export async function readValues(
  ports: ReaderPorts,
  thread: string,
  cached: CachedThread,
  values: readonly StoredValue[],
): Promise<readonly unknown[]> {
  const lists = await listsOf(ports, thread, cached, values);
  const keys = keysOf(values, lists);
  await loadMissing(ports, thread, cached, keys);
  const recent = recentOf(ports.mediaTurns, values, lists, cached);
  const fresh = freshOf(values, lists);
  const shown = new Map<MessageKey, BaseMessage>();
  for (const key of keys) {
    const message = cached.messages.get(key) ?? lacking(thread);
    shown.set(
      key,
      "message" in message
        ? lend(ports, thread, key, message, fresh.has(key))
        : await show(ports, thread, key, message, recent.has(key)),
    );
  }
  return await Promise.all(values.map((value) => readValue(ports, value, lists, shown)));
}

type Lists = ReadonlyMap<string, readonly MessageKey[]>;

async function listsOf(
  { store }: ReaderPorts,
  thread: string,
  cached: CachedThread,
  values: readonly StoredValue[],
): Promise<Lists> {
  const ids = [...new Set(values.flatMap(({ lists }) => lists))];
  const lists = new Map<string, readonly MessageKey[]>();
  const missing: string[] = [];
  for (const id of ids) {
    const keys = cached.lists.get(id);
    if (keys) lists.set(id, keys);
    else missing.push(id);
  }
  for (const [id, keys] of await store.lists(thread, missing)) lists.set(id, keys);
  for (const id of ids) cached.remember(id, lists.get(id) ?? lacking(thread));
  return lists;
}

function keysOf(values: readonly StoredValue[], lists: Lists): ReadonlySet<MessageKey> {
  const keys = new Set(values.flatMap(({ messages }) => messages));
  for (const list of lists.values()) for (const key of list) keys.add(key);
  return keys;
}

async function loadMissing(
  { store, serde }: ReaderPorts,
  thread: string,
  cached: CachedThread,
  keys: ReadonlySet<MessageKey>,
): Promise<void> {
  const missing = [...keys].filter((key) => !cached.messages.has(key));
  if (missing.length === 0) return;
  for (const stored of await store.messages(thread, missing)) {
    cached.messages.set(stored.key, await toCached(stored, serde));
  }
}

async function toCached(stored: StoredMessage, serde: SerializerProtocol): Promise<CachedMessage> {
  if (stored.mark !== "")
    return { human: /"HumanMessage(Chunk)?"/.test(textOf(stored.body).slice(0, 200)), stored };
  const message = await loadMessage(serde, textOf(stored.body));
  return { human: message.getType() === "human", message };
}

function recentOf(
  mediaTurns: number,
  values: readonly StoredValue[],
  lists: Lists,
  cached: CachedThread,
): ReadonlySet<MessageKey> {
  // What is written down for the next step alone is of this turn.
  const recent = new Set(values.flatMap((value) => value.messages));
  for (const keys of lists.values()) {
    let turns = 0;
    for (let at = keys.length - 1; at >= 0 && turns < mediaTurns; at -= 1) {
      const key = keys[at]!; // at is within the list
      recent.add(key);
      if (cached.messages.get(key)?.human) turns += 1;
    }
  }
  return recent;
}

/** The last messages: an approval that edits calls, or a result that is shortened, changes these in place. */
function freshOf(values: readonly StoredValue[], lists: Lists): ReadonlySet<MessageKey> {
  return new Set([
    ...values.flatMap((value) => value.messages),
    ...[...lists.values()].flatMap((keys) => keys.slice(-TAIL)),
  ]);
}

/**
 * What is cached stays here; what is handed out is a copy. The last messages are copied each time. Older ones are lent
 * to one reader after the other, as copying a thousand takes as long as the rest of a turn: that is enough because a
 * copy that somebody has changed is found by comparing it, and then not lent again. Once a turn, for comparing takes as
 * long: the commit that ends a run compares, so only what no commit has seen since it was lent is compared here.
 */
function lend(
  { kept }: ReaderPorts,
  thread: string,
  key: MessageKey,
  cached: LoadedMessage,
  fresh: boolean,
): BaseMessage {
  const { lent: before, checked } = cached;
  cached.checked = false;
  if (!fresh && before && (checked === true || isUnchanged(before, cached.message))) return before;
  const lent = copyMessage(cached.message);
  kept.set(lent, { thread, key, copy: cached.message, ...(fresh ? {} : { cached }) });
  if (!fresh) cached.lent = lent;
  return lent;
}

async function show(
  { blobs, serde, kept }: ReaderPorts,
  thread: string,
  key: MessageKey,
  { stored }: Extract<CachedMessage, { readonly stored: StoredMessage }>,
  recent: boolean,
): Promise<BaseMessage> {
  const parked = { text: textOf(stored.body), mark: stored.mark };
  const whole = recent ? await withMedia(parked, blobs) : undefined;
  const message = await loadMessage(serde, whole ?? inWords(parked));
  // Put back as it is, a message in words is still the message with its media.
  kept.set(message, { thread, key, copy: copyMessage(message) });
  return message;
}

/** Undefined when the bytes are gone: the conversation goes on without them. */
async function withMedia(
  parked: { readonly text: string; readonly mark: string },
  blobs: Blobs,
): Promise<string | undefined> {
  try {
    return await unpark(parked, (ref) => blobs.read(ref));
  } catch (error) {
    if (hasCode(error, "blob.missing")) return undefined;
    throw error;
  }
}

async function readValue(
  { serde, blobs }: ReaderPorts,
  value: StoredValue,
  lists: Lists,
  shown: ReadonlyMap<MessageKey, BaseMessage>,
): Promise<unknown> {
  const { type, mark, bytes } = value;
  // The draft writes the name of a blob in place of long bytes.
  if (type === "blob") return await blobs.read(textOf(bytes) as BlobRef);
  // A copy, since what the driver gave may share its memory with other rows.
  if (type !== "json") return (await serde.loadsTyped(type, Uint8Array.from(bytes))) as unknown;
  if (mark === "") return (await serde.loadsTyped(type, textOf(bytes))) as unknown;
  const text = await unpark({ text: textOf(bytes), mark }, (ref) => blobs.read(ref));
  const loaded: unknown = await serde.loadsTyped(type, text);
  return withMessages(loaded, mark, (place) => {
    if ("one" in place) return shown.get(place.one);
    const keys = "list" in place ? (lists.get(place.list) ?? []) : place.items;
    return keys.map((key) => shown.get(key));
  });
}

function withMessages(value: unknown, mark: string, fill: (place: MessagePlace) => unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const map = (inner: unknown): unknown => withMessages(inner, mark, fill);
  if (Array.isArray(value)) return value.map(map);
  if (value instanceof Map) {
    return new Map([...(value as Map<unknown, unknown>)].map(([key, item]) => [map(key), map(item)]));
  }
  if (value instanceof Set) return new Set([...(value as Set<unknown>)].map(map));
  if (isDeltaSnapshot(value)) return new DeltaSnapshot(map(value.value));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const record: Readonly<Record<string, unknown>> = { ...value };
  // Only the draft knows the mark.
  if (mark in record) return fill(record[mark] as MessagePlace);
  return Object.fromEntries(Object.entries(record).map(([key, item]) => [key, map(item)]));
}

async function loadMessage(serde: SerializerProtocol, text: string): Promise<BaseMessage> {
  return (await serde.loadsTyped("json", text)) as BaseMessage; // the draft writes messages alone
}

function lacking(thread: string): never {
  throw new GatewayError(
    "data.unusable",
    `thread ${thread} lacks messages of its history; restore a backup, or start a new thread in that chat`,
  );
}

function textOf(bytes: Uint8Array | string): string {
  return typeof bytes === "string"
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
