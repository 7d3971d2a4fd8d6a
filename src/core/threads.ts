import type { Hold, ThreadId } from "./identity.ts";

/** The id of a message within its thread, behind the hash of what it is: `<22 characters>:<id>`. */
export type MessageKey = string;

/** A message as it is kept, once for all checkpoints that mean it. */
export type StoredMessage = {
  readonly key: MessageKey;
  /** The name of what was taken out of the body; "" when it is whole. */
  readonly mark: string;
  readonly body: Uint8Array;
};

/**
 * A list of messages: the first `keep` of its parent's, then its own. A turn on a long thread adds a short one;
 * only a history that was rewritten is written in full. Never changed; the id is a hash of the rest.
 */
export type StoredList = {
  readonly id: string;
  /** "" without one. */
  readonly parent: string;
  readonly keep: number;
  readonly own: readonly MessageKey[];
};

/** A serialised value and what it refers to. */
export type StoredValue = {
  readonly type: string;
  readonly mark: string;
  readonly bytes: Uint8Array;
  readonly lists: readonly string[];
  readonly messages: readonly MessageKey[];
};

export type StoredChannel = StoredValue & { readonly channel: string };

/** `path`, then `task`, then `index` is the order in which writes are applied; negative indices may be overwritten. */
export type StoredWrite = StoredChannel & {
  readonly path: string;
  readonly task: string;
  readonly index: number;
};

export type CheckpointAddress = {
  readonly thread: ThreadId;
  readonly namespace: string;
  readonly id: string;
};

export type StoredCheckpoint = CheckpointAddress & {
  /** The id of the checkpoint before it in the same namespace; "" without one. */
  readonly parent: string;
  readonly body: string;
  readonly metadata: StoredValue;
  readonly values: readonly StoredChannel[];
  /** In the order in which they are applied. */
  readonly writes: readonly StoredWrite[];
};

/** What a commit brings, and what it counts on to be there already. */
export type StoredParts = {
  readonly messages: readonly StoredMessage[];
  readonly lists: readonly StoredList[];
  readonly needs: { readonly messages: readonly MessageKey[]; readonly lists: readonly string[] };
};

export type CheckpointCommit = CheckpointAddress &
  StoredParts & {
    readonly parent: string;
    /** The checkpoint of the outermost namespace during which this one was made; its own id at the outermost. */
    readonly root: string;
    readonly body: string;
    readonly metadata: StoredValue;
    readonly values: readonly StoredChannel[];
    /** Channels that stand as they do in the parent. */
    readonly inherited: readonly string[];
    /** Whether all that only earlier checkpoints need is deleted in the same transaction. */
    readonly prune: boolean;
    /** Whether a list here drops messages that another list had, which may mean nothing to anybody now. */
    readonly rewritten: boolean;
  };

/** "stale": something that the commit counts on is not there; nothing was written. */
export type CommitOutcome = "stored" | "stale";

/**
 * Where the threads of agents are kept. Every write with a hold checks it in its own transaction.
 * @throws GatewayError "store.hold_lost" from a write whose holder is not the chat's holder any more.
 */
export type ThreadStore = {
  /** Without an id: the newest. */
  read(thread: ThreadId, namespace: string, id?: string): Promise<StoredCheckpoint | undefined>;
  /** Newest first. */
  list(query: {
    readonly thread?: ThreadId;
    readonly namespace?: string;
    readonly id?: string;
    /** Only ids below. */
    readonly before?: string;
    readonly limit?: number;
  }): Promise<readonly CheckpointAddress[]>;
  messages(thread: ThreadId, keys: readonly MessageKey[]): Promise<readonly StoredMessage[]>;
  /** Each list in full; one that is not there is missing from the answer. */
  lists(thread: ThreadId, ids: readonly string[]): Promise<ReadonlyMap<string, readonly MessageKey[]>>;
  put(commit: CheckpointCommit, hold?: Hold): Promise<CommitOutcome>;
  putWrites(
    at: CheckpointAddress,
    writes: readonly StoredWrite[],
    parts: StoredParts,
    hold?: Hold,
  ): Promise<CommitOutcome>;
  delete(thread: ThreadId, hold?: Hold): Promise<void>;
};
