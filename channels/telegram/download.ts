import type { Api } from "grammy";
import { GatewayError } from "../../src/core/errors.ts";
import { MOST_DOWNLOAD_BYTES, readRef } from "./announced.ts";
import { grammySignal } from "./deadline.ts";
import { failureOf, wordsOf } from "./failures.ts";
import { type Line, readText } from "./transport.ts";

/**
 * Opens what a person sent. The link that Telegram gives holds the token and does not leave this file.
 * @throws GatewayError "media.too_large" or "media.unavailable", also while the bytes are read; the signal's reason.
 */
export async function download(
  ref: string,
  parts: {
    readonly api: Api["raw"];
    readonly line: Line;
    /** "https://api.telegram.org/file/bot<token>/" */
    readonly files: string;
  },
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  signal.throwIfAborted();
  const { fileId, tooLargeBytes } = readRef(ref);
  if (tooLargeBytes !== undefined) throw tooLarge(tooLargeBytes);
  const { file_path: path, file_size: bytes = 0 } = await describe(fileId, parts.api, signal);
  if (bytes > MOST_DOWNLOAD_BYTES) throw tooLarge(bytes);
  if (path === undefined) throw unavailable("Telegram gave no link to it");
  try {
    const address = path.split("/").map(encodeURIComponent).join("/");
    const { status, body } = await parts.line.open(parts.files + address, { method: "GET", signal });
    if (status === 200) return guarded(body, signal);
    await readText(body); // the words of an error are for nobody
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
