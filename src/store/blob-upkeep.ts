import type { FileBlobs } from "./blobs.ts";
import { chatsAfter, surveyUses, unused } from "./blob-use.ts";
import type { Database } from "./database.ts";

const DAY_MS = 24 * 3_600_000;
/** Gone over at a time, so that nobody waits for it. */
const CHATS_AT_ONCE = 25;
const BLOBS_AT_ONCE = 500;

/**
 * Removes blobs that nobody can see any more. A blob goes only when all chats have been gone over since it was a day old and
 * none names it: what has just been put and is named by nothing yet is young, and putting it again makes it so.
 */
export class BlobUpkeep {
  readonly #database: Database;
  readonly #blobs: FileBlobs;
  #after = 0;
  #roundBegan: number | undefined;
  /** All chats have been gone over since then; undefined before the first time in this process. */
  #covered: number | undefined;

  constructor(database: Database, blobs: FileBlobs) {
    this.#database = database;
    this.#blobs = blobs;
  }

  /** Goes over the next chats, all of them once a day; gives how many blobs were removed. */
  async step(now: number): Promise<number> {
    const isResting =
      this.#roundBegan === undefined && this.#covered !== undefined && now - this.#covered < DAY_MS;
    if (isResting) return 0;
    this.#roundBegan ??= now;
    const chats = await chatsAfter(this.#database.db, this.#after, CHATS_AT_ONCE);
    for (const chat of chats) await surveyUses(this.#database, chat);
    this.#after = chats.at(-1) ?? 0;
    if (chats.length === CHATS_AT_ONCE) return 0;
    this.#covered = this.#roundBegan;
    this.#roundBegan = undefined;
    this.#after = 0;
    return await this.#removeUnused(this.#covered - DAY_MS);
  }

  /** What chats use is written down for all of them when it resolves. */
  async complete(now: number): Promise<void> {
    while (this.#covered === undefined) await this.step(now);
  }

  async #removeUnused(before: number): Promise<number> {
    let removed = 0;
    for await (const old of this.#blobs.olderThan(before, BLOBS_AT_ONCE)) {
      for (const ref of await unused(this.#database.db, old)) {
        // Put again meanwhile, it is young.
        if (await this.#blobs.remove(ref, before)) removed += 1;
      }
    }
    return removed;
  }
}
