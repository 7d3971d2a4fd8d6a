import { isAbsolute } from "node:path";
import type { Api } from "grammy";
import type { Clock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { MOST_DOWNLOAD_BYTES, readRef } from "./announced.ts";
import { grammySignal } from "./deadline.ts";
import { failureOf, wordsOf } from "./failures.ts";
import { serverFile } from "./server-file.ts";
import { type Line, readText } from "./transport.ts";

const ERROR_BYTES = 64 * 1024;
/** Telegram answers at once where it has a file, and a person waits for this one. */
const OPEN_MS = 20_000;
const TOO_SLOW = unavailable(`it did not answer within ${OPEN_MS / 1_000} s`);

export type DownloadParts = {
  readonly api: Api["raw"];
  readonly line: Line;
  /** "https://api.telegram.org/file/bot<token>/" */
  readonly files: string;
  /** The folder of a Bot API server on this machine, which hands out files of any size as paths. */
  readonly serverFolder: string | undefined;
};

/**
 * Opens what a person sent. The link that Telegram gives holds the token and does not leave this file; it is asked for
 * each time, because it holds for an hour.
 * @throws GatewayError "media.too_large" or "media.unavailable", also while the bytes are read; the signal's reason.
 */
export async function download(
  ref: string,
  parts: DownloadParts & { readonly clock: Clock },
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  signal.throwIfAborted();
  const { serverFolder, clock } = parts;
  const { fileId, tooLargeBytes } = readRef(ref);
  if (serverFolder === undefined && tooLargeBytes !== undefined) throw tooLarge(tooLargeBytes);
  const slow = new AbortController();
  // A server of one's own answers once it has fetched the file itself, whatever that takes.
  const timer = serverFolder === undefined ? clock.after(OPEN_MS, () => slow.abort(TOO_SLOW)) : undefined;
  try {
    return await open(fileId, parts, AbortSignal.any([signal, slow.signal]));
  } finally {
    timer?.cancel();
  }
}

async function open(
  fileId: string,
  { api, line, files, serverFolder }: DownloadParts,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const { file_path: path, file_size: bytes = 0 } = await describe(fileId, api, signal);
  if (path === undefined) throw unavailable("Telegram gave no link to it");
  if (isAbsolute(path)) {
    if (serverFolder !== undefined) return serverFile(path, serverFolder, signal);
    throw unavailable("the Bot API server runs with --local; set serverFolder to the folder of its files");
  }
  if (bytes > MOST_DOWNLOAD_BYTES) throw tooLarge(bytes);
  try {
    const address = path.split("/").map(encodeURIComponent).join("/");
    const { status, body } = await line.open(files + address, { method: "GET", signal });
    if (status === 200) return guarded(body, signal);
    await readText(body, ERROR_BYTES); // the words of an error are for nobody
    throw unavailable(`Telegram answered ${status}`);
  } catch (thrown) {
    throw downloadError(thrown, signal);
  }
}

async function describe(
  fileId: string,
  api: Api["raw"],
  signal: AbortSignal,
): ReturnType<Api["raw"]["getFile"]> {
  try {
    return await api.getFile({ file_id: fileId }, grammySignal(signal));
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (failure.kind === "refused" && /file is too big/i.test(failure.description)) throw tooLarge(undefined);
    throw downloadError(unavailable(wordsOf(failure)), signal);
  }
}

async function* guarded(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (thrown) {
    throw downloadError(thrown, signal);
  }
}

/** An abort keeps its own reason; whatever else happened, the file could not be had. */
function downloadError(thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return thrown instanceof GatewayError ? thrown : unavailable(wordsOf(failureOf(thrown)));
}

function unavailable(why: string): GatewayError {
  return new GatewayError(
    "media.unavailable",
    `the file could not be fetched from Telegram: ${why}; send it again`,
  );
}

function tooLarge(bytes: number | undefined): GatewayError {
  const size =
    bytes === undefined ? "the file is larger" : `the file has ${Math.ceil(bytes / 1024 / 1024)} MB`;
  return new GatewayError(
    "media.too_large",
    `${size}; Telegram hands bots at most 20 MB, so send a smaller one or a link`,
  );
}
