import { randomBytes } from "node:crypto";
import type { proto, WASocket } from "@whiskeysockets/baileys";
import { z } from "zod";
import type { BlobRef } from "../../../../src/core/blocks.ts";
import type { MediaItem } from "../../../../src/core/channel.ts";
import type { BlobReader, Studio } from "../../../../src/core/host.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import { asError, GatewayError } from "../../../../src/core/errors.ts";
import { encrypted, type Measured, measure } from "./encrypt.ts";
import type { Account } from "../line.ts";
import { contentOf, lookOf, sortOf, type UploadedFile } from "./media-content.ts";
import { isMediaHost } from "./media-hosts.ts";
import { type MediaKeys, mediaKeys, type MediaSort } from "./media-keys.ts";
import { exchange, type LineSettings } from "./media-line.ts";
import { type MediaServers, mediaServers } from "./media-servers.ts";
import { patience } from "./patience.ts";

/** For the connection, for each part of the file to leave, and for the answer. */
const SILENT_MS = 20_000;
const MEDIA_KEY_BYTES = 32;
const ANSWER_BYTES = 64 * 1024;
/** The right to upload has run out. */
const UNAUTHORISED: ReadonlySet<number> = new Set([401, 403]);
/** It would be refused again. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 415]);

export type UploadParts = {
  readonly account: Account;
  readonly settings: LineSettings;
  readonly blobs: BlobReader;
  readonly studio: Studio;
  readonly clock: Clock;
};

/**
 * Brings a file to WhatsApp's servers and gives the message for it, which nobody has been sent yet; what stands below it
 * is left to whoever sends it. The file is read twice and never in memory as a whole, nor in a file of its own.
 * @throws GatewayError "send.not_written" where the servers are not reached, "send.refused" where they do not take it,
 * with the step-down "document" where that may help; "blob.missing"; the signal's reason.
 */
export async function upload(
  item: MediaItem,
  parts: UploadParts,
  signal: AbortSignal,
): Promise<proto.IMessage> {
  signal.throwIfAborted();
  const line = parts.account.line();
  if (!line) throw notWritten("WhatsApp is not connected");
  const sort = sortOf(item.as);
  const mediaKey = randomBytes(MEDIA_KEY_BYTES);
  const keys = mediaKeys(sort, mediaKey);
  const looked = lookOf(item, parts.studio);
  const measured = await measure(parts.blobs.open(item.media.blob), keys);
  const file = { blob: item.media.blob, sort, keys, measured };
  const { url, direct_path: directPath } = await bring(file, line.socket, parts, signal);
  const uploaded: UploadedFile = {
    ...(url === undefined ? {} : { url }),
    ...(directPath === undefined ? {} : { directPath }),
    mediaKey,
    fileSha256: measured.sha256,
    fileEncSha256: measured.sealedSha256,
    fileLength: measured.bytes,
    mediaKeyTimestamp: Math.floor(parts.clock.now() / 1_000),
  };
  return contentOf(item, uploaded, await looked);
}

type Sealed = {
  readonly blob: BlobRef;
  readonly sort: Exclude<MediaSort, "sticker">;
  readonly keys: MediaKeys;
  readonly measured: Measured;
};

const place = z.union([
  z.object({ url: z.string().optional(), direct_path: z.string().min(1) }),
  z.object({ url: z.string().min(1), direct_path: z.undefined().optional() }),
]);
type Place = z.output<typeof place>;

/** To the first server that takes it; with a new right to do so where the one that we had has run out. */
async function bring(
  file: Sealed,
  socket: WASocket,
  parts: UploadParts,
  signal: AbortSignal,
): Promise<Place> {
  for (const anew of [false, true]) {
    const servers = await serversOf(socket, parts, anew, signal);
    const outcome = await tryAll(file, servers, parts, signal);
    if (outcome !== "unauthorised") return outcome;
  }
  throw notWritten("WhatsApp's servers of files do not let this account upload");
}

async function tryAll(
  file: Sealed,
  { hosts, auth }: MediaServers,
  parts: UploadParts,
  signal: AbortSignal,
): Promise<Place | "unauthorised"> {
  const { sealedBytes, sealedSha256 } = file.measured;
  const roomy = hosts.filter(({ mostBytes }) => sealedBytes <= mostBytes);
  if (roomy.length === 0) {
    const most = Math.max(...hosts.map(({ mostBytes }) => mostBytes));
    throw new GatewayError(
      "send.refused",
      `a file of ${file.measured.bytes} bytes; WhatsApp takes at most ${most}, so send a smaller one or a link`,
    );
  }
  const token = Buffer.from(sealedSha256).toString("base64url");
  let why = "WhatsApp named no server of its own";
  for (const { name } of roomy) {
    const address = `https://${name}/mms/${file.sort}/${token}`;
    if (!URL.canParse(address)) continue;
    const url = new URL(address);
    if (!isMediaHost(url, parts.settings.testServer)) continue;
    url.search = new URLSearchParams({ auth, token }).toString();
    const answer = await post(url, file, parts, signal);
    if (typeof answer === "string") {
      why = answer;
      continue;
    }
    const { status, text } = answer;
    if (UNAUTHORISED.has(status)) return "unauthorised";
    if (REFUSED.has(status)) throw refused(status, file.sort);
    const given = place.safeParse(parsed(text));
    if (status === 200 && given.success) return given.data;
    why = `it answered ${status}`;
  }
  throw notWritten(`the file could not be uploaded: ${why}`);
}

/** What the server says, or why it said nothing. @throws the signal's reason; what reading the file throws. */
async function post(
  url: URL,
  { blob, keys, measured }: Sealed,
  { settings, blobs, clock }: UploadParts,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string } | string> {
  const silent = new Error(`nothing moved for ${SILENT_MS / 1_000} s`);
  const waiting = patience(clock, SILENT_MS, silent, signal);
  async function* body(): AsyncGenerator<Uint8Array> {
    for await (const chunk of encrypted(blobs.open(blob), keys)) {
      waiting.moved();
      yield chunk;
    }
  }
  try {
    const headers = {
      "Content-Type": "application/octet-stream",
      "Content-Length": String(measured.sealedBytes),
    };
    const answer = await exchange(url, { headers, body: body() }, settings, waiting.signal);
    try {
      waiting.moved();
      return { status: answer.status, text: await textOf(answer.body) };
    } finally {
      answer.close();
    }
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof GatewayError) throw thrown; // the file itself is gone
    return asError(thrown).message;
  } finally {
    waiting.clear();
  }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES) throw new Error(`an answer of more than ${ANSWER_BYTES} bytes came`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws GatewayError "send.not_written"; the signal's reason. */
async function serversOf(
  socket: WASocket,
  { clock }: UploadParts,
  anew: boolean,
  signal: AbortSignal,
): Promise<MediaServers> {
  const silent = notWritten(`WhatsApp did not name its servers of files within ${SILENT_MS / 1_000} s`);
  const waiting = patience(clock, SILENT_MS, silent, signal);
  try {
    return await new Promise<MediaServers>((resolve, reject) => {
      const stop = (): void => reject(asError(waiting.signal.reason));
      waiting.signal.addEventListener("abort", stop, { once: true });
      if (waiting.signal.aborted) stop();
      mediaServers(socket, clock, anew).then(resolve, reject);
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown === silent ? silent : notWritten("WhatsApp does not name its servers of files", thrown);
  } finally {
    waiting.clear();
  }
}

function refused(status: number, sort: Sealed["sort"]): GatewayError {
  return new GatewayError(
    "send.refused",
    `WhatsApp's servers did not take the file (${status}); send it in another format`,
    sort === "document" ? {} : { stepDown: "document" },
  );
}

function notWritten(why: string, cause?: unknown): GatewayError {
  return new GatewayError(
    "send.not_written",
    `${why}; it is tried again`,
    cause === undefined ? {} : { cause },
  );
}
