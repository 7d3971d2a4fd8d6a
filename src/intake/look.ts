import type { FileHandle } from "node:fs/promises";
import { basename } from "node:path";
import type { AgentDefinition, Look } from "../core/agent.ts";
import type { Bounded } from "../core/bounds.ts";
import type { ContentBlock, MediaKind } from "../core/blocks.ts";
import { GatewayError, systemCode } from "../core/errors.ts";
import type { ChatId } from "../core/identity.ts";
import { inQuotes } from "../core/words.ts";
import type { MediaPart } from "../media/part.ts";
import type { Reading } from "../media/reading.ts";
import { sniff } from "../media/sniff.ts";
import { takeIn } from "../media/take-in.ts";
import type { Workspaces } from "../store/workspace.ts";
import type { AttachmentLanes, AttachmentParts } from "./attachments.ts";
import { openFile } from "./open-file.ts";

export type LookParts = Pick<
  AttachmentParts,
  "blobs" | "workshop" | "limits" | "clock" | "programs" | "log" | "senses"
> & { readonly workspaces: Workspaces; readonly lanes: AttachmentLanes };

/** What listening and looking have to be within. */
type Within = Pick<AttachmentParts, "database"> & { readonly bounded: Bounded };

/** Lets an agent look at the files of its chat as it is shown what people send: by the same readers, caps and bounds. */
export function lookFor(chat: ChatId, agent: AgentDefinition, by: LookParts, within?: Within): Look {
  return async (path, { from, count }, signal = new AbortController().signal) => {
    const minutes = within && by.lanes.minutes.open(within.database, by.clock, within.bounded);
    try {
      return await by.lanes.reading.run(
        chat,
        async (leave) => {
          const listening: Reading["listening"] = async (work) => {
            leave();
            return await by.lanes.listening.run(chat, work, signal);
          };
          return await look({ chat, agent, path, listening, minutes, ...partOf(from, count) }, by, signal);
        },
        signal,
      );
    } catch (error) {
      if (signal.aborted) throw error;
      // Its message names the file.
      by.log.error({ chat, code: systemCode(error) }, "a file could not be looked at");
      return [{ type: "text", text: `[${inQuotes(path)} could not be opened]` }];
    } finally {
      // It is heard now, whatever becomes of the turn.
      if (minutes) await within.database.light(async (trx) => minutes.count(trx)).finally(minutes.end);
    }
  };
}

type Looking = Pick<Reading, "listening" | "minutes" | "part"> & {
  readonly chat: ChatId;
  readonly agent: AgentDefinition;
  readonly path: string;
};

async function look(
  { chat, agent, path, ...how }: Looking,
  by: LookParts,
  signal: AbortSignal,
): Promise<readonly ContentBlock[]> {
  const folder = by.workspaces.folderOf(chat);
  const filename = basename(path);
  const first = await openFile(folder, path);
  if (first === undefined) return [{ type: "text", text: `[there is no file ${inQuotes(path)}]` }];
  const { kind, bytes } = await described(first, filename);
  const open = async (): Promise<AsyncIterable<Uint8Array>> => {
    const handle = await openFile(folder, path);
    if (handle === undefined) throw new GatewayError("media.unavailable", "the file is there no more");
    return bytesOf(handle);
  };
  const senses = await by.senses(agent);
  const reading: Reading = { ...by, ...how, open, senses, transcriber: agent.transcriber };
  const unfetched = { type: "unfetched", kind, ref: path, declared: { filename, bytes } } as const;
  const { blocks } = await takeIn(unfetched, reading, signal);
  return await Promise.all(blocks.map((block) => withPaths(block, path, chat, by)));
}

/** What file-type and our own tables look at. */
const HEAD_BYTES = 4_100;

/** What it is goes by its bytes, so that the cap of its kind holds from the beginning. Closes it. */
async function described(
  handle: FileHandle,
  filename: string,
): Promise<{ readonly kind: MediaKind; readonly bytes: number }> {
  try {
    const { size: bytes } = await handle.stat();
    const head = new Uint8Array(HEAD_BYTES);
    const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0);
    const { kind } = await sniff(head.subarray(0, bytesRead), { filename, bytes });
    return { kind, bytes };
  } finally {
    await handle.close();
  }
}

const CHUNK_BYTES = 256 * 1_024;

/** To the end; closed also where nobody reads on. */
async function* bytesOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const chunk = new Uint8Array(CHUNK_BYTES);
      const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES);
      if (bytesRead === 0) return;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** A text that is longer than what is shown of it is put where the file tools read on in it. */
async function withPaths(
  block: ContentBlock,
  path: string,
  chat: ChatId,
  { workspaces, log }: LookParts,
): Promise<ContentBlock> {
  if (block.type === "text") return block;
  const { extract } = block;
  if (extract?.whole === undefined) return { ...block, path };
  try {
    const text = await workspaces.keep(chat, `${basename(path)}.txt`, extract.whole.blob);
    return { ...block, path, extract: { ...extract, whole: { ...extract.whole, path: text } } };
  } catch (error) {
    log.error({ chat, code: systemCode(error) }, "a text could not be kept for the agent");
    return { ...block, path };
  }
}

function partOf(from = 0, count?: number): { readonly part?: MediaPart } {
  if (from === 0 && count === undefined) return {};
  return { part: { from, ...(count === undefined ? {} : { count: Math.max(1, count) }) } };
}
