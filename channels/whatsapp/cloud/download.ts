import { createHash } from "node:crypto";
import type { Clock } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { bytesWords } from "../../../src/core/words.ts";
import type { CloudSettings } from "../settings.ts";
import type { Failure } from "./failures.ts";
import { asGraphError, type Graph } from "./graph.ts";
import { type Answer, type Line, readText } from "./line.ts";
import { MOST_DOWNLOAD_BYTES } from "./limits.ts";
import { isTrusted } from "./roots.ts";

/** Meta answers at once where it has a file, and a person waits for this one. */
const OPEN_MS = 20_000;
/** The longest silence between two parts of a file. */
const SILENCE_MS = 20_000;
const REDIRECTS = 3;
const ERROR_BYTES = 64 * 1024;

export type DownloadParts = {
  readonly settings: CloudSettings;
  readonly graph: Graph;
  readonly line: Line;
  readonly clock: Clock;
};

/** Where a file is for 5 minutes, and what it must be. The address opens only with the token, and is kept nowhere. */
type Found = { readonly url: string; readonly bytes?: number; readonly sha256?: string };

/**
 * Opens what a person sent. An address that has run out is asked for once more.
 * @throws GatewayError "media.too_large" or "media.unavailable", also while the bytes are read; the signal's reason.
 */
export async function download(
  ref: string,
  parts: DownloadParts,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  signal.throwIfAborted();
  if (!/^\d{5,25}$/.test(ref)) throw unavailable("it has no id of a file");
  const cut = new CutOff(parts.clock, signal);
  try {
    cut.within(OPEN_MS);
    const first = await opened(ref, parts, cut.signal);
    const { found, answer } = first.answer.status === 200 ? first : await opened(ref, parts, cut.signal);
    if (answer.status !== 200) throw unavailable(`Meta answered ${answer.status}`);
    return checked(answer.body, found, cut);
  } catch (thrown) {
    cut.end();
    throw downloadError(thrown, cut, signal);
  }
}

/** Its answer where that is 200 or may be another time; that of an error is read to its end. */
async function opened(
  ref: string,
  parts: DownloadParts,
  signal: AbortSignal,
): Promise<{ readonly found: Found; readonly answer: Answer }> {
  const found = await lookedUp(ref, parts, signal);
  if (found.bytes !== undefined && found.bytes > MOST_DOWNLOAD_BYTES) throw tooLarge(found.bytes);
  const { settings, line } = parts;
  let { url } = found;
  for (let redirects = 0; ; redirects++) {
    if (!isTrusted(url, settings.graphRoot)) throw unavailable("it lies at an address that is not Meta's");
    const headers = { authorization: `Bearer ${settings.token}`, "user-agent": "perch" };
    const answer = await line.open(url, { method: "GET", headers, signal });
    if (answer.status === 200) return { found, answer };
    await readText(answer.body, ERROR_BYTES); // the words of an error are for nobody
    const { location } = answer.headers;
    const isRedirect = answer.status >= 300 && answer.status < 400 && typeof location === "string";
    if (!isRedirect || redirects === REDIRECTS) return { found, answer };
    url = new URL(location, url).href;
  }
}

async function lookedUp(
  ref: string,
  { graph, settings }: DownloadParts,
  signal: AbortSignal,
): Promise<Found> {
  const path = `${ref}?phone_number_id=${settings.phoneNumberId}`;
  const said = await graph.call({ method: "GET", path, signal });
  const { url, sha256, file_size: size } = said;
  if (typeof url !== "string") throw unavailable("Meta gave no address for it");
  const bytes = Number(size ?? Number.NaN);
  return {
    url,
    ...(Number.isFinite(bytes) ? { bytes } : {}),
    ...(typeof sha256 === "string" && /^[0-9a-f]{64}$/i.test(sha256) ? { sha256: sha256.toLowerCase() } : {}),
  };
}

async function* checked(body: Answer["body"], found: Found, cut: CutOff): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    cut.within(SILENCE_MS);
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > Math.min(found.bytes ?? Infinity, MOST_DOWNLOAD_BYTES)) throw tooLarge(bytes);
      hash.update(chunk);
      // Whoever reads may take its time.
      cut.pause();
      yield chunk;
      cut.within(SILENCE_MS);
    }
    if (found.bytes !== undefined && bytes < found.bytes)
      throw unavailable(`it ended after ${bytes} of ${found.bytes} bytes`);
    if (found.sha256 !== undefined && hash.digest("hex") !== found.sha256)
      throw unavailable("what came is not what was sent");
  } catch (thrown) {
    throw downloadError(thrown, cut, cut.outer);
  } finally {
    cut.end();
  }
}

/** Ends a download at its caller's wish, or where nothing comes. */
class CutOff {
  readonly outer: AbortSignal;
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #abort = (): void => this.#controller.abort();
  #timer: ReturnType<Clock["after"]> | undefined;

  constructor(clock: Clock, outer: AbortSignal) {
    this.#clock = clock;
    this.outer = outer;
    outer.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  within(ms: number): void {
    this.pause();
    this.#timer = this.#clock.after(ms, this.#abort);
  }

  pause(): void {
    this.#timer?.cancel();
  }

  end(): void {
    this.pause();
    this.outer.removeEventListener("abort", this.#abort);
  }
}

/** An abort keeps its own reason; whatever else happened, the file could not be had. */
function downloadError(thrown: unknown, cut: CutOff, outer: AbortSignal): unknown {
  if (outer.aborted) return outer.reason;
  if (thrown instanceof GatewayError) return thrown;
  if (cut.signal.aborted) return unavailable(`nothing came for ${SILENCE_MS / 1_000} s`);
  return unavailable(wordsOf(asGraphError(thrown).failure));
}

/** Meta keeps what people send for 7 days. */
function wordsOf(failure: Failure): string {
  const isGone = failure.kind === "refused" && failure.sort !== "pace" && failure.sort !== "token";
  return isGone ? `${failure.why}; files older than 7 days are gone` : failure.why;
}

function unavailable(why: string): GatewayError {
  return new GatewayError(
    "media.unavailable",
    `the file could not be fetched from WhatsApp: ${why}; send it again`,
  );
}

function tooLarge(bytes: number): GatewayError {
  return new GatewayError(
    "media.too_large",
    `the file has ${bytesWords(bytes)} or more; WhatsApp hands businesses at most ${bytesWords(MOST_DOWNLOAD_BYTES)}, so ` +
      "send a smaller one or a link",
  );
}
