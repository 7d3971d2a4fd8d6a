import { constants } from "node:fs";
import { lstat, mkdir, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { BaseMessage } from "@langchain/core/messages";
import type { Blobs } from "../../core/agent.ts";
import type { ThreadId } from "../../core/identity.ts";
import { perchContent } from "../messages.ts";
import { type Entry, entryOf } from "./entries.ts";
import { entryText, readEntries, scanEntries } from "./history-format.ts";
import { keepMedia } from "./history-media.ts";

/** The folder of a chat that the history of its threads is in; agents may read it. */
const FOLDER = "history";

/**
 * So much of the end of a file is looked at: far more than one thread holds at once, and no more however long a thread becomes.
 */
const TAIL_BYTES = 16_000_000;

/** Which thread of which chat's folder it is, and where its media are read. */
export type History = { readonly folder: string; readonly thread: ThreadId; readonly blobs: Blobs };

/**
 * Appends what leaves a thread to its history file, `<folder>/history/<agent>-<n>.md`, with copies of its media in
 * `history/media/`; see `entryText` for how it is written. On the disk when it resolves. What stands in the file already is not
 * written again, and what a crash has left half written is written anew. Gives the path as the agent's tools know it.
 */
export async function appendHistory(to: History, messages: readonly BaseMessage[]): Promise<string> {
  const name = historyFile(to.thread);
  const folder = join(to.folder, FOLDER);
  const path = join(folder, name);
  await inTurn(path, async () => {
    await ownFolder(to.folder, folder);
    await ownFolder(to.folder, join(folder, "media"));
    const handle = await open(path, RDWR | CREAT | NOFOLLOW, 0o600);
    try {
      const { ids, end, size } = await tailOf(handle);
      const fresh: string[] = end === 0 ? ["# What was said here\n\n"] : [];
      for (const message of messages) {
        const entry = entryOf(message);
        if (ids.has(entry.id)) continue;
        const lines = await keepMedia(perchContent(message)?.content ?? [], join(folder, "media"), to.blobs);
        fresh.push(entryText({ ...entry, text: [entry.text, ...lines].join("\n") }));
      }
      if (end < size) await handle.truncate(end);
      await writeAt(handle, Buffer.from(fresh.join("")), end);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  });
  return `/${FOLDER}/${name}`;
}

/**
 * What has left a thread since the message with the id `after`; of all that its file still tells where that is "" or not
 * among it. A message may be there while its thread has it still. Empty where nothing has left it.
 */
export async function readHistory(
  folder: string,
  thread: ThreadId,
  after: string,
): Promise<readonly Entry[]> {
  let handle: FileHandle;
  try {
    handle = await open(join(folder, FOLDER, historyFile(thread)), constants.O_RDONLY | NOFOLLOW);
  } catch {
    return [];
  }
  try {
    const { size } = await handle.stat();
    const entries = readEntries((await readFrom(handle, Math.max(0, size - TAIL_BYTES))).toString("utf8"));
    return entries.slice(entries.findLastIndex(({ id }) => id === after) + 1);
  } finally {
    await handle.close();
  }
}

const { O_RDWR: RDWR, O_CREAT: CREAT } = constants;
// Undefined where the system has none.
const NOFOLLOW = constants.O_NOFOLLOW ?? 0;

/** "helper-1.md" of "7/helper/1". */
export function historyFile(thread: ThreadId): string {
  const [, agent, n] = /^\d+\/([^/]+)\/(\d+)$/.exec(thread) ?? [];
  const name = agent === undefined ? thread : `${agent}-${n}`;
  return `${encodeURIComponent(name)}.md`;
}

/** @throws Error where something else stands in its place: a link could lead anywhere. */
async function ownFolder(root: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (!(await lstat(folder)).isDirectory())
    throw new Error(`${folder.slice(root.length)} is no folder of the chat`);
}

async function tailOf(
  handle: FileHandle,
): Promise<{ readonly ids: ReadonlySet<string>; readonly end: number; readonly size: number }> {
  const { size } = await handle.stat();
  const from = Math.max(0, size - TAIL_BYTES);
  const tail = await readFrom(handle, from);
  const { ids, end } = scanEntries(tail.toString("latin1"));
  // A tail of that length without an entry is not of our writing, and left as it is.
  return { ids, end: ids.size > 0 ? from + end : from === 0 ? 0 : size, size };
}

async function readFrom(handle: FileHandle, from: number): Promise<Buffer> {
  const { size } = await handle.stat();
  const bytes = Buffer.alloc(Math.max(0, size - from));
  let read = 0;
  while (read < bytes.length) {
    const { bytesRead } = await handle.read(bytes, read, bytes.length - read, from + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}

async function writeAt(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, at + written);
    written += bytesWritten;
  }
}

const writing = new Map<string, Promise<void>>();

/** A turn that was left behind may still be at it when the next one comes. */
async function inTurn(path: string, write: () => Promise<void>): Promise<void> {
  const before = writing.get(path) ?? Promise.resolve();
  const mine = before.then(write);
  const settled = mine.catch(() => {});
  writing.set(path, settled);
  try {
    await mine;
  } finally {
    if (writing.get(path) === settled) writing.delete(path);
  }
}
