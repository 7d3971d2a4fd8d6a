/** What agents remember. `refs` is JSON: the lists and messages that a value means, `{ "lists": [], "messages": [] }`. */
export interface ThreadTables {
  thread_checkpoint: ThreadCheckpointRow;
  thread_value: ThreadValueRow;
  thread_write: ThreadWriteRow;
  thread_list: ThreadListRow;
  thread_message: ThreadMessageRow;
}

export interface ThreadCheckpointRow {
  thread: string;
  namespace: string;
  id: string;
  parent: string;
  root: string;
  body: string;
  /** JSON: the checkpoint under whose id each channel's value is kept. */
  sources: string;
  type: string;
  mark: string;
  metadata: Uint8Array;
  refs: string;
}

/** The value of a channel, kept once for all checkpoints in which it stands unchanged. */
export interface ThreadValueRow {
  thread: string;
  namespace: string;
  source: string;
  channel: string;
  type: string;
  mark: string;
  bytes: Uint8Array;
  refs: string;
}

export interface ThreadWriteRow {
  thread: string;
  namespace: string;
  checkpoint: string;
  path: string;
  task: string;
  idx: number;
  channel: string;
  type: string;
  mark: string;
  bytes: Uint8Array;
  refs: string;
}

interface ThreadListRow {
  thread: string;
  id: string;
  parent: string;
  keep: number;
  /** JSON list of message keys. */
  own: string;
}

interface ThreadMessageRow {
  thread: string;
  id: string;
  hash: string;
  mark: string;
  body: Uint8Array;
}
