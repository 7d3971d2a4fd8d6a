import type { Clock } from "../../../../src/core/clock.ts";
import { asError, GatewayError } from "../../../../src/core/errors.ts";
import { decrypted } from "./decrypt.ts";
import type { Account } from "../line.ts";
import { mediaAddress } from "./media-hosts.ts";
import { mediaKeys } from "./media-keys.ts";
import { type Answer, exchange, type LineSettings } from "./media-line.ts";
import { type AnnouncedMedia, readMediaRef } from "./media-ref.ts";
import { type Patience, patience } from "./patience.ts";
import { reupload } from "./reupload.ts";
import type { Seal } from "../keys/seal.ts";

/** For the connection, the first byte, and each one after it. */
const SILENT_MS = 20_000;
/** What WhatsApp lets people send. */
const MOST_BYTES = 2_000_000_000;
/** A file that has lain for two or three weeks, or whose address has run out. */
const GONE: ReadonlySet<number> = new Set([403, 404, 410]);

export type DownloadParts = {
  readonly account: Account;
  readonly settings: LineSettings;
  readonly seal: Seal;
  readonly clock: Clock;
};

/**
 * Opens what a person sent, in bounded memory. What WhatsApp has no more is asked of the account's phone, once.
 * The bytes are checked as they come and known to be good at their end: where reading them throws, all are to be dropped.
 * @throws GatewayError "media.unavailable", "media.too_large" or "media.unreadable", also while the bytes are read; the
 * signal's reason.
 */
export async function download(
  ref: string,
  parts: DownloadParts,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  signal.throwIfAborted();
  const media = readMediaRef(ref, parts.seal);
  const { key, bytes = 0 } = media;
  if (bytes > MOST_BYTES)
    throw new GatewayError("media.too_large", `the file has ${bytes} bytes; WhatsApp takes ${MOST_BYTES}`);
  if (!key) throw unavailable("its message came without the key; open it on the phone");
  const first = await open(media, parts, signal);
  const file = first.answer.status === 200 ? first : await again(first, { ...media, key }, parts, signal);
  return read(file, decrypted(moving(file), mediaKeys(media.sort, key), media));
}

/** An answer, and how long it may be silent. */
type Opened = { readonly answer: Answer; readonly waiting: Patience };

async function again(
  { answer, waiting }: Opened,
  media: AnnouncedMedia & { readonly key: Uint8Array },
  parts: DownloadParts,
  signal: AbortSignal,
): Promise<Opened> {
  answer.close();
  waiting.clear();
  if (!GONE.has(answer.status)) throw unavailable(`it answered ${answer.status}; send it again`);
  const path = await reupload(media, parts, signal);
  const second = await open({ ...media, path }, parts, signal);
  if (second.answer.status === 200) return second;
  second.answer.close();
  second.waiting.clear();
  throw unavailable(`it answered ${second.answer.status} after the phone had uploaded it again`);
}

async function open(
  media: AnnouncedMedia,
  { settings, clock }: DownloadParts,
  signal: AbortSignal,
): Promise<Opened> {
  const address = mediaAddress(media, settings.testServer);
  if (!address) throw unavailable("its message names no server of WhatsApp's");
  const silent = unavailable(`nothing came for ${SILENT_MS / 1_000} s; send it again`);
  const waiting = patience(clock, SILENT_MS, silent, signal);
  try {
    const answer = await exchange(address, {}, settings, waiting.signal);
    waiting.moved();
    return { answer, waiting };
  } catch (thrown) {
    waiting.clear();
    throw failure(thrown, signal);
  }
}

async function* moving({ answer, waiting }: Opened): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of answer.body) {
      waiting.moved();
      yield chunk;
    }
  } catch (thrown) {
    throw failure(thrown, waiting.signal);
  }
}

async function* read(
  { answer, waiting }: Opened,
  bytes: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } finally {
    waiting.clear();
    answer.close();
  }
}

/** An abort keeps its own reason; whatever else happened, the file could not be had. */
function failure(thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return thrown instanceof GatewayError ? thrown : unavailable(`${asError(thrown).message}; send it again`);
}

function unavailable(why: string): GatewayError {
  return new GatewayError("media.unavailable", `the file could not be fetched from WhatsApp: ${why}`);
}
