import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  TASKS,
  WRITES_IDX_MAP,
  getCheckpointId,
  maxChannelVersion,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { Blobs } from "../core/agent.ts";
import type { Hold } from "../core/identity.ts";
import type {
  CommitOutcome,
  StoredChannel,
  StoredCheckpoint,
  StoredWrite,
  ThreadStore,
} from "../core/threads.ts";
import { ThreadCache } from "./thread-cache.ts";
import { Draft, type Kept } from "./thread-draft.ts";
import { readValues } from "./thread-reader.ts";

export type ThreadOptions = {
  readonly store: ThreadStore;
  readonly blobs: Blobs;
  /** The media of the last so many messages of a person come back as media, older ones as words. */
  readonly mediaTurns: number;
  /** "newest": the newest checkpoint, and what a pending interrupt needs. */
  readonly keep?: "newest" | "all";
};

/**
 * Keeps the state of graphs on the store: each message once, lists of messages by what was appended, media in the blob
 * store. With `configurable.hold` every write checks that the chat is still held.
 * @throws GatewayError "store.hold_lost" from put, putWrites and deleteThread.
 */
export class ThreadSaver extends BaseCheckpointSaver {
  readonly #options: ThreadOptions;
  readonly #cache = new ThreadCache();
  readonly #kept = new WeakMap<BaseMessage, Kept>();
  /** The commit of each thread that was begun last, while it runs. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(options: ThreadOptions) {
    super();
    this.#options = options;
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread, namespace } = addressOf(config);
    if (thread === undefined) return undefined;
    const stored = await this.#options.store.read(thread, namespace, getCheckpointId(config) || undefined);
    return stored && (await this.#tuple(stored, isGlance(config)));
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread, id } = addressOf(config);
    const namespace: unknown = config.configurable?.["checkpoint_ns"];
    const before = options.before && addressOf(options.before).id;
    const filter = Object.entries(options.filter ?? {});
    let left = options.limit ?? Infinity;
    const found = await this.#options.store.list({
      ...(thread === undefined ? {} : { thread }),
      ...(typeof namespace === "string" ? { namespace } : {}),
      ...(id === undefined ? {} : { id }),
      ...(before === undefined ? {} : { before }),
      // What the filter leaves out is known only once it is read.
      ...(filter.length > 0 || left === Infinity ? {} : { limit: left }),
    });
    for (const at of found) {
      if (left <= 0) return;
      const stored = await this.#options.store.read(at.thread, at.namespace, at.id);
      const tuple = stored && (await this.#tuple(stored));
      if (!tuple) continue;
      const metadata: Readonly<Record<string, unknown>> = { ...tuple.metadata };
      if (filter.some(([key, value]) => metadata[key] !== value)) continue;
      left -= 1;
      yield tuple;
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread, namespace, id: parent } = addressOf(config);
    if (thread === undefined)
      throw new Error("a checkpoint needs configurable.thread_id: the thread to keep it in");
    const { v, id, ts, channel_values, channel_versions, versions_seen } = checkpoint;
    // A delta channel is made again from the writes of the checkpoints since its last snapshot.
    const prune = this.#options.keep !== "all" && metadata.counters_since_delta_snapshot === undefined;
    await this.#commit(thread, async (draft, trusting) => {
      const changed = Object.keys(channel_values).filter((channel) => !trusting || channel in newVersions);
      const values: StoredChannel[] = [];
      for (const channel of changed) {
        values.push({ channel, ...(await draft.value(channel_values[channel], { passing: false })) });
      }
      const commit = {
        thread,
        namespace,
        id,
        parent: parent ?? "",
        root: namespace === "" ? id : (metadata.parents[""] ?? ""),
        body: JSON.stringify({ v, id, ts, channel_versions, versions_seen }),
        metadata: await draft.value(metadata, { passing: true }),
        values,
        inherited: Object.keys(channel_values).filter((channel) => !changed.includes(channel)),
        prune,
        rewritten: draft.rewritten,
        ...draft.parts,
      };
      return () => this.#options.store.put(commit, holdOf(config));
    });
    return { configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } };
  }

  async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const { thread, namespace, id } = addressOf(config);
    if (thread === undefined)
      throw new Error("writes need configurable.thread_id: the thread to keep them in");
    if (id === undefined)
      throw new Error("writes need configurable.checkpoint_id: the checkpoint they follow");
    const at = { thread, namespace, id };
    await this.#commit(thread, async (draft) => {
      const stored: StoredWrite[] = [];
      for (const [position, [channel, value]] of writes.entries()) {
        const index = WRITES_IDX_MAP[channel] ?? position;
        const kept = await draft.value(value, { passing: true });
        stored.push({ path: taskPath, task: taskId, index, channel, ...kept });
      }
      return () => this.#options.store.putWrites(at, stored, draft.parts, holdOf(config));
    });
  }

  async deleteThread(threadId: string, hold?: Hold): Promise<void> {
    await this.#options.store.delete(threadId, hold);
    this.#cache.forget(threadId);
  }

  /**
   * Values are written down at once, since a graph may go on to change them; what they became is stored in the order
   * of the calls, so that the writes of a step never come after the checkpoint that supersedes them.
   */
  async #commit(
    thread: string,
    write: (draft: Draft, trusting: boolean) => Promise<() => Promise<CommitOutcome>>,
  ): Promise<void> {
    const before = this.#last.get(thread);
    const commit = this.#commitAfter(before, thread, write);
    const settled = commit.catch(() => {});
    this.#last.set(thread, settled);
    await commit.finally(() => {
      if (this.#last.get(thread) === settled) this.#last.delete(thread);
    });
  }

  async #commitAfter(
    before: Promise<void> | undefined,
    thread: string,
    write: (draft: Draft, trusting: boolean) => Promise<() => Promise<CommitOutcome>>,
  ): Promise<void> {
    const cached = this.#cache.of(thread);
    cached.glance = undefined;
    const draft = new Draft(thread, cached, this.#kept, this.serde);
    const store = await write(draft, true);
    await this.#putBlobs(draft);
    await before;
    if ((await store()) === "stored") {
      for (const [id, keys] of draft.lists) cached.remember(id, keys);
      return;
    }
    // Somebody else has written the thread meanwhile: everything is brought along, and nothing is counted on.
    this.#cache.forget(thread);
    const whole = new Draft(thread, undefined, this.#kept, this.serde);
    const storeAll = await write(whole, false);
    await this.#putBlobs(whole);
    if ((await storeAll()) === "stale") throw new Error(`thread ${thread} could not be written in full`);
  }

  async #putBlobs({ blobs }: Draft): Promise<void> {
    await Promise.all([...blobs.values()].map((bytes) => this.#options.blobs.put(bytes)));
  }

  async #tuple(stored: StoredCheckpoint, glance = false): Promise<CheckpointTuple> {
    const { thread, namespace, id, parent } = stored;
    const [metadata, ...values] = await this.#values(stored, glance);
    // Written by put alone.
    const body = JSON.parse(stored.body) as Omit<Checkpoint, "channel_values">;
    const channels = stored.values.map(({ channel }, index) => [channel, values[index]] as const);
    const checkpoint: Checkpoint = { ...body, channel_values: Object.fromEntries(channels) };
    const at = (checkpoint_id: string): RunnableConfig => ({
      configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id },
    });
    if (checkpoint.v < 4 && parent !== "") await this.#bringSends(checkpoint, at(parent));
    return {
      config: at(id),
      checkpoint,
      metadata: metadata as CheckpointMetadata, // written by put alone
      pendingWrites: stored.writes.map(({ task, channel }, index): CheckpointPendingWrite => [
        task,
        channel,
        values[stored.values.length + index],
      ]),
      ...(parent === "" ? {} : { parentConfig: at(parent) }),
    };
  }

  /** What somebody only looked at is handed on whole to whoever reads the same next: a long thread is read once a turn. */
  async #values(stored: StoredCheckpoint, glance: boolean): Promise<readonly unknown[]> {
    const { thread, id, writes } = stored;
    const cached = this.#cache.of(thread);
    const seen = cached.glance;
    cached.glance = undefined;
    if (!glance && seen?.checkpoint === id && seen.writes === writes.length) return seen.values;
    const ports = { ...this.#options, serde: this.serde, kept: this.#kept };
    const all = [stored.metadata, ...stored.values, ...writes];
    const values = await readValues(ports, thread, cached, all);
    if (glance) cached.glance = { checkpoint: id, writes: writes.length, values };
    this.#cache.trim();
    return values;
  }

  /** Before format 4 the sends of a step stood among the writes of the checkpoint before. */
  async #bringSends(checkpoint: Checkpoint, parent: RunnableConfig): Promise<void> {
    const writes = (await this.getTuple(parent))?.pendingWrites ?? [];
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = writes.flatMap(([, channel, value]) =>
      channel === TASKS ? [value] : [],
    );
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }
}

/** For a reader that changes nothing of what it is given and begins a run with the same thread next. */
export function glancing(config: RunnableConfig): RunnableConfig {
  return { ...config, configurable: { ...config.configurable, glance: true } };
}

function isGlance({ configurable }: RunnableConfig): boolean {
  return configurable?.["glance"] === true;
}

type Address = {
  readonly thread: string | undefined;
  readonly namespace: string;
  readonly id: string | undefined;
};

function addressOf({ configurable = {} }: RunnableConfig): Address {
  const { thread_id, checkpoint_ns, checkpoint_id } = configurable as Readonly<Record<string, unknown>>;
  return {
    thread: typeof thread_id === "string" || typeof thread_id === "number" ? String(thread_id) : undefined,
    namespace: typeof checkpoint_ns === "string" ? checkpoint_ns : "",
    id: typeof checkpoint_id === "string" && checkpoint_id !== "" ? checkpoint_id : undefined,
  };
}

function holdOf({ configurable }: RunnableConfig): Hold | undefined {
  return configurable?.["hold"] as Hold | undefined; // put there by the runner alone
}
