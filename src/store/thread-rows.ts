import type {
  MessageKey,
  StoredChannel,
  StoredCheckpoint,
  StoredValue,
  StoredWrite,
} from "../core/threads.ts";
import type { ThreadCheckpointRow, ThreadValueRow, ThreadWriteRow } from "./thread-tables.ts";

const HASH_LENGTH = 22;
// Rows of at most eleven columns an insert, one parameter a key: both dialects take 32,000.
const CHUNK = 1000;

/** The checkpoint under whose id the value of each channel is kept. */
export type Sources = Readonly<Record<string, string>>;

export function toCheckpoint(
  row: ThreadCheckpointRow,
  values: readonly ThreadValueRow[],
  writes: readonly ThreadWriteRow[],
): StoredCheckpoint {
  const sources = sourcesOf(row);
  return {
    thread: row.thread,
    namespace: row.namespace,
    id: row.id,
    parent: row.parent,
    body: row.body,
    metadata: toValue({ ...row, bytes: row.metadata }),
    values: values
      .filter(({ channel, source }) => sources[channel] === source)
      .map((value): StoredChannel => ({ channel: value.channel, ...toValue(value) })),
    writes: writes.map((write): StoredWrite => ({
      path: write.path,
      task: write.task,
      index: write.idx,
      channel: write.channel,
      ...toValue(write),
    })),
  };
}

type ValueColumns = Pick<ThreadValueRow, "type" | "mark" | "bytes" | "refs">;

export function valueColumns(value: StoredValue): ValueColumns {
  const { type, mark, lists, messages } = value;
  return { type, mark, bytes: bytes(value.bytes), refs: JSON.stringify({ lists, messages }) };
}

function toValue(row: ValueColumns): StoredValue {
  // Written by valueColumns alone.
  const refs = JSON.parse(row.refs) as Pick<StoredValue, "lists" | "messages">;
  return { type: row.type, mark: row.mark, bytes: row.bytes, lists: refs.lists, messages: refs.messages };
}

export function sourcesOf(row: Pick<ThreadCheckpointRow, "sources">): Sources {
  // Written by insertCheckpoint alone.
  return JSON.parse(row.sources) as Sources;
}

/** The drivers bind Buffers; a view costs nothing. */
export function bytes(view: Uint8Array): Buffer {
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength);
}

export function hashOf(key: MessageKey): string {
  return key.slice(0, HASH_LENGTH);
}

export function idOf(key: MessageKey): string {
  return key.slice(HASH_LENGTH + 1);
}

export function chunks<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, n) =>
    items.slice(n * CHUNK, (n + 1) * CHUNK),
  );
}
