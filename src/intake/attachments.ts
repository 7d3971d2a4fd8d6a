import type { Channel } from "../core/channel.ts";
import { type Clock, pause } from "../core/clock.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import { type MediaLimits, takeIn } from "../media/take-in.ts";
import type { Taken } from "../media/taken.ts";
import { beginAttachment, finishAttachment, giveBackAttachment } from "../store/attachments.ts";
import type { FileBlobs } from "../store/blobs.ts";
import type { Database } from "../store/database.ts";
import { insist } from "../store/insist.ts";

/** A file that has ended the process this many times is told of, not opened again. */
const CRASHES_BEFORE_UNREADABLE = 3;
/** Platforms say "temporarily unavailable" of files that are there a moment later. */
const RETRY_AFTER_MS = [1_000, 3_000];

/**
 * Fetches one attachment as a durable step: counted before the first byte, its outcome committed.
 * Gives the chat whose turn may now begin; undefined when there is nothing to do here.
 */
export async function fetchAttachment(
  id: number,
  by: {
    readonly database: Database;
    readonly blobs: FileBlobs;
    readonly channel: (id: ChannelId) => Channel | undefined;
    readonly limits: MediaLimits;
    readonly clock: Clock;
    readonly log: Log;
    readonly closing: AbortSignal;
  },
): Promise<ChatId | undefined> {
  const task = await beginAttachment(by.database, id);
  if (!task) return undefined;
  const channel = by.channel(task.channel);
  if (!channel) {
    await giveBackAttachment(by.database, id); // its connection is off; opening it wakes the work again
    return undefined;
  }
  const open = (ref: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> =>
    channel.fetch(ref, signal);
  try {
    let taken = await once();
    for (const waitMs of RETRY_AFTER_MS) {
      if (taken.outcome !== "unavailable") break;
      await pause(by.clock, waitMs, by.closing);
      by.closing.throwIfAborted();
      taken = await once();
    }
    await insist(() => finishAttachment(by.database, id, taken), by);
    by.log.debug(
      { chat: task.chat, attachment: id, outcome: taken.outcome },
      "an attachment has its outcome",
    );
    return task.chat;
  } catch (error) {
    if (by.closing.aborted) await giveBackAttachment(by.database, id);
    throw error;
  }

  async function once(): Promise<Taken> {
    const { kind, declared } = task!.unfetched; // returned above when there is none
    if (task!.attempt > CRASHES_BEFORE_UNREADABLE) {
      const text = `[${declared.label ?? kind}: not usable, it could not be read in ${CRASHES_BEFORE_UNREADABLE} tries]`;
      return { blocks: [{ type: "text", text }], outcome: "unreadable" };
    }
    return await takeIn(task!.unfetched, { ...by, open }, by.closing);
  }
}
