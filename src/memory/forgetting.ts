import type { PieceBody } from "../core/channel.ts";
import type { Clock } from "../core/clock.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import { say } from "../core/sentences.ts";
import type { BlobUpkeep } from "../store/blob-upkeep.ts";
import { unused } from "../store/blob-use.ts";
import type { FileBlobs } from "../store/blobs.ts";
import { languageOfChat } from "../store/chats.ts";
import type { Database } from "../store/database.ts";
import {
  endForget,
  noteFiles,
  noteTold,
  anybodyAtWork,
  type PendingForget,
  pendingForgets,
} from "../store/forget.ts";
import type { Workspaces } from "../store/workspace.ts";

/** So long it is tried again while others are at work. */
const AT_WORK_MS = 3_600_000;
const AGAIN_MS = 30_000;
/** Between two times that the database is built anew, so many times as long as the first took. */
const ERASE_PAUSES = 20;

export type ForgettingParts = {
  readonly database: Database;
  readonly blobs: FileBlobs;
  readonly uses: BlobUpkeep;
  readonly workspaces: Workspaces;
  /** What a connection makes of a sentence; nothing while it is not open. */
  readonly words: (channel: ChannelId, text: string) => readonly PieceBody[];
  readonly deliver: (chat: ChatId) => void;
  readonly clock: Clock;
  readonly log: Log;
};

/** Removes the files of chats whose rows are deleted, and says there what was deleted. Each step can be the last of a process. */
export class Forgetting {
  readonly #parts: ForgettingParts;
  #eraseFrom = 0;

  constructor(parts: ForgettingParts) {
    this.#parts = parts;
  }

  /** Right behind the commit: what is put into the chat's folder from now on is of after that. */
  begin(chat: ChatId, at: number): void {
    const { workspaces, log } = this.#parts;
    try {
      workspaces.setAside(chat, at);
    } catch (err) {
      log.warn({ chat, err }, "the files of a chat could not be set aside yet");
    }
  }

  /** What an earlier process has not begun, before anything new comes. */
  async beginAll(): Promise<void> {
    for (const { chat, files, at } of await pendingForgets(this.#parts.database.db))
      if (files === undefined) this.begin(chat, at);
  }

  async pending(): Promise<readonly ChatId[]> {
    return (await pendingForgets(this.#parts.database.db)).map(({ chat }) => chat);
  }

  /** Gives when to come again (epoch ms), where something is left to do. */
  async run(chat: ChatId): Promise<number | undefined> {
    const { database, workspaces, clock } = this.#parts;
    const [pending] = await pendingForgets(database.db, chat);
    if (!pending) return undefined;
    const files = pending.files ?? (await this.#counted(pending));
    await workspaces.drop(chat);
    if (!(await this.#erase())) return clock.now() + AGAIN_MS;
    const told = pending.told || (await this.#tell(pending, files));
    const gone = await this.#removeBlobs(pending);
    if (!told || !gone) return clock.now() + AGAIN_MS;
    await endForget(database.db, chat);
    return undefined;
  }

  /** Nobody gets an answer meanwhile: it takes a small part of the time, however often it is wished for. */
  async #erase(): Promise<boolean> {
    const { database, clock } = this.#parts;
    const began = clock.now();
    if (began < this.#eraseFrom) return false;
    const erased = await database.erase();
    this.#eraseFrom = clock.now() + ERASE_PAUSES * (clock.now() - began);
    return erased;
  }

  /** Counted before the first is removed, so that a crash in between changes nothing of the proof. */
  async #counted({ chat, at }: PendingForget): Promise<number> {
    const { database, workspaces } = this.#parts;
    workspaces.setAside(chat, at);
    const files = await workspaces.countAside(chat);
    await noteFiles(database.db, chat, files);
    return files;
  }

  /** Whether it could be said; not while the connection is closed. */
  async #tell({ chat, channel, to, counts }: PendingForget, files: number): Promise<boolean> {
    const { database, words, deliver, clock, log } = this.#parts;
    const language = await languageOfChat(database.db, chat);
    const bodies = words(channel, say("forget.done", language, { ...counts, files }));
    if (bodies.length === 0) return false;
    const pieces = bodies.map((body, seq) => ({ chat, to, turn: 0, seq, body }));
    await noteTold(database, chat, pieces, clock.now());
    deliver(chat);
    log.info({ chat, ...counts, files }, "all of a chat was forgotten");
    return true;
  }

  /**
   * Those that no chat uses; whether it is done. Not while one may be about to: in one transaction with the deed, so
   * that nobody begins between the look and it.
   */
  async #removeBlobs({ at, blobs: refs }: PendingForget): Promise<boolean> {
    const { database, blobs, uses, clock } = this.#parts;
    if (refs.length === 0) return true;
    await uses.complete(clock.now());
    const removed = await database.db.transaction().execute(async (trx) => {
      if (await anybodyAtWork(trx, clock.now())) return false;
      for (const ref of await unused(trx, refs)) await blobs.remove(ref);
      return true;
    });
    // Where somebody always is at work, they go like all that nobody uses: when they are a day old.
    return removed || clock.now() - at > AT_WORK_MS;
  }
}
