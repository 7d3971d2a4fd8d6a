import type { BlobRef, ContentBlock } from "../core/blocks.ts";
import type { Bounded } from "../core/bounds.ts";
import type { Channel } from "../core/channel.ts";
import { pause } from "../core/clock.ts";
import { systemCode } from "../core/errors.ts";
import type { Place } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { AgentDefinition, Senses } from "../core/agent.ts";
import type { MediaLimits } from "../media/limits.ts";
import { FairLane, NotNow } from "../media/lanes.ts";
import type { Reading } from "../media/reading.ts";
import { diskName } from "../core/names.ts";
import { endingOf } from "../media/endings.ts";
import { takeIn } from "../media/take-in.ts";
import { type Taken, unusable } from "../media/taken.ts";
import { finishAttachment } from "../store/attachments.ts";
import {
  type AttachmentTask,
  beginAttachment,
  giveBackAttachment,
  leaveAttachment,
  placeOfAttachment,
  renewAttachment,
} from "../store/fetches.ts";
import type { Database } from "../store/database.ts";
import { insist } from "../store/insist.ts";
import { HOLD_MS, keepRenewed } from "../store/renew.ts";
import type { Workspaces } from "../store/workspace.ts";
import { type Listening, MinutesUnderWay } from "./media-minutes.ts";
import { isCalledIn } from "./named.ts";

/** A file that has ended the process this many times is told of, not opened again. */
const CRASHES_BEFORE_UNREADABLE = 3;
const NO_SENSES: Senses = { images: false, pdf: false, audio: false };
/** Platforms say "temporarily unavailable" of files that are there a moment later; the person need not wait for more. */
const RETRY_AFTER_MS = 2_000;

/** What reading the attachments of all chats has in common. */
export class AttachmentLanes {
  /** Fetched and read: the downloads, and then the workshop, work on so many. */
  readonly reading = new FairLane(8);
  /** Written down by a transcriber, which may take minutes. */
  readonly listening = new FairLane(4);
  readonly minutes = new MinutesUnderWay();
}

export type AttachmentParts = {
  readonly database: Database;
  /** Names this process among those that fetch. */
  readonly owner: string;
  readonly workspaces: Workspaces;
  readonly channel: (id: ChannelId) => Channel | undefined;
  readonly agent: (name: string) => AgentDefinition | undefined;
  readonly senses: (agent: AgentDefinition) => Promise<Senses>;
  /** What people of a connection call the agent aloud. */
  readonly names: (id: ChannelId) => readonly string[];
  /** How many messages that are not for the agent are kept where one was sent. */
  readonly context: (id: ChannelId, place: Place) => Promise<number>;
  readonly lanes: AttachmentLanes;
  /** What bounds whoever has sent it; undefined where nothing does. */
  readonly bounded: (task: AttachmentTask) => Promise<Bounded | undefined>;
  readonly log: Log;
  readonly closing: AbortSignal;
} & Pick<Reading, "blobs" | "workshop" | "limits" | "clock" | "programs">;

/** What became of an attachment: the chat whose turn may now begin, and what is to be fetched for it before. */
export type AttachmentDone = { readonly chat: ChatId; readonly further: readonly number[] };

/**
 * Fetches one attachment as a durable step: counted before the first byte, its outcome committed. Undefined when there
 * is nothing to do here. Of a message that was listened to and is not for us, nothing is kept. With `alone`, what only
 * takes long is left to a later call.
 */
export async function fetchAttachment(
  id: number,
  by: AttachmentParts,
  { alone }: { readonly alone: boolean },
): Promise<AttachmentDone | undefined> {
  const place = await placeOfAttachment(by.database, id);
  // Where its connection is off, opening it wakes the work again.
  if (!place || !by.channel(place.channel)) return undefined;
  try {
    return await by.lanes.reading.run(place.chat, (leave) => fetchNow(id, by, { alone, leave }), by.closing);
  } catch (error) {
    // It is taken up again: at the next start, or when the others have begun as well.
    if (by.closing.aborted || error instanceof NotNow) return undefined;
    throw error;
  }
}

async function fetchNow(
  id: number,
  by: AttachmentParts,
  { alone, leave }: { readonly alone: boolean; readonly leave: () => void },
): Promise<AttachmentDone | undefined> {
  const { owner, clock } = by;
  const now = clock.now();
  const begun = await beginAttachment(by.database, id, { owner, now, until: now + HOLD_MS });
  if (!begun) return undefined;
  const task = begun;
  let counted = true;
  const channel = by.channel(task.channel);
  if (!channel) {
    await uncount(); // it was closed while others were read
    await leaveAttachment(by.database, id, owner);
    return undefined;
  }
  const renewal = keepRenewed(
    by,
    (until) => renewAttachment(by.database, id, { owner, until }),
    // Its outcome is written once, whoever comes first with it.
    () => by.log.warn({ chat: task.chat, attachment: id }, "another process fetches an attachment as well"),
  );
  const open = (ref: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> =>
    channel.fetch(ref, signal);
  const limits = within(by.limits, channel.fetchBytes);
  let minutes: Listening | undefined;
  try {
    minutes = await minutesFor(task, by);
    let taken = await once();
    if (taken.notice?.key === "media.unavailable") {
      await pause(by.clock, RETRY_AFTER_MS, by.closing);
      by.closing.throwIfAborted();
      taken = await once();
    }
    const named = task.listening && (await isCalledIn(taken.blocks, by.names(task.channel), by.blobs));
    const heard = task.listening
      ? { named, context: await by.context(task.channel, task.place), now: by.clock.now() }
      : undefined;
    const kept = task.listening && !named ? taken : await withPaths(taken);
    const further = await insist(() => finishAttachment(by.database, id, kept, heard, minutes?.count), by);
    if (!further) {
      // All of its chat was forgotten meanwhile, and so is this.
      for (const path of pathsIn(kept)) await by.workspaces.remove(task.chat, path);
      by.log.debug({ chat: task.chat, attachment: id }, "the chat of an attachment was forgotten meanwhile");
      return undefined;
    }
    by.log.debug(
      { chat: task.chat, attachment: id, outcome: taken.outcome },
      "an attachment has its outcome",
    );
    return { chat: task.chat, further };
  } catch (error) {
    if (by.closing.aborted) await uncount();
    await leaveAttachment(by.database, id, owner);
    throw error;
  } finally {
    minutes?.end();
    renewal.cancel();
  }

  async function once(): Promise<Taken> {
    const { kind, declared } = task.unfetched;
    if (task.attempt > CRASHES_BEFORE_UNREADABLE) {
      return unusable(`the ${declared.label ?? kind}`, "unreadable", "media.broken");
    }
    const agent = by.agent(task.agent);
    const senses = agent ? await by.senses(agent) : NO_SENSES;
    const reading: Reading = {
      ...by,
      open,
      senses,
      limits,
      listening,
      minutes,
      transcriber: agent?.transcriber,
    };
    return await takeIn(task.unfetched, reading, by.closing);
  }

  /** Whatever ends the process from here on, it is not this file: it is read. And what waits here holds up no other. */
  async function listening<T>(work: () => Promise<T>): Promise<T> {
    await uncount();
    leave();
    if (alone) throw new NotNow("it is listened to later");
    return await by.lanes.listening.run(task.chat, work, by.closing);
  }

  async function uncount(): Promise<void> {
    if (counted) await giveBackAttachment(by.database, id);
    counted = false;
  }

  /** The originals, and texts that are longer than what the model is shown, go where the agent's file tools find them. */
  async function withPaths(taken: Taken): Promise<Taken> {
    const { original } = taken;
    if (!original) return taken;
    const name =
      original.filename === undefined
        ? `${task.unfetched.kind}-${id}${endingOf(original.mimeType)}`
        : diskName(original.filename);
    const path = await keep(name, original.blob);
    const blocks = await Promise.all(
      taken.blocks.map(async (block): Promise<ContentBlock> => {
        if (block.type === "text") return block;
        const { extract, ...rest } = block;
        const file = { ...rest, ...(path === undefined ? {} : { path }) };
        if (extract?.whole === undefined) return { ...file, ...(extract ? { extract } : {}) };
        // What stands in the original word for word is not written down a second time.
        const { blob } = extract.whole;
        const text = blob === original.blob ? path : await keep(`${name}.txt`, blob);
        const whole = { ...extract.whole, ...(text === undefined ? {} : { path: text }) };
        return { ...file, extract: { ...extract, whole } };
      }),
    );
    return { ...taken, blocks };
  }

  /** Undefined where the folder takes no file: what was sent is worth more than a copy of it. */
  async function keep(name: string, blob: BlobRef): Promise<string | undefined> {
    try {
      return await by.workspaces.keep(task.chat, name, blob);
    } catch (error) {
      const code = systemCode(error); // its message names the file
      by.log.error({ chat: task.chat, attachment: id, code }, "a file could not be kept for the agent");
      return undefined;
    }
  }
}

async function minutesFor(task: AttachmentTask, by: AttachmentParts): Promise<Listening | undefined> {
  const { database, clock, lanes } = by;
  const bounded = await by.bounded(task);
  return bounded && lanes.minutes.open(database, clock, bounded);
}

/** Where a copy of it, or of its text, was put. */
function pathsIn({ blocks }: Taken): readonly string[] {
  return blocks.flatMap((block) =>
    block.type === "text"
      ? []
      : [block.path, block.extract?.whole?.path].filter((path) => path !== undefined),
  );
}

/** What a platform does not hand out is too large here as well. */
function within(limits: MediaLimits, mostBytes = Infinity): MediaLimits {
  return {
    ...limits,
    imageBytes: Math.min(limits.imageBytes, mostBytes),
    documentBytes: Math.min(limits.documentBytes, mostBytes),
    audioBytes: Math.min(limits.audioBytes, mostBytes),
    videoBytes: Math.min(limits.videoBytes, mostBytes),
  };
}
