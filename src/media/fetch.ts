import { type Clock, deadline } from "../core/clock.ts";
import { asError, GatewayError } from "../core/errors.ts";
import type { FileBlobs, WrittenBlob } from "../store/blobs.ts";
import type { MediaLimits } from "./limits.ts";

/**
 * Streams a file into the blob store. The deadline bounds the whole, the stall bound each wait for the next bytes; how long
 * opening may take is the channel's to say, for a server may have to get the file first.
 * @throws GatewayError "media.too_large" or "media.unavailable".
 */
export async function fetchInto(
  ref: string,
  capBytes: number,
  by: {
    readonly open: (ref: string, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
    readonly blobs: FileBlobs;
    readonly limits: Pick<MediaLimits, "fetchSeconds" | "stallSeconds">;
    readonly clock: Clock;
  },
  signal: AbortSignal,
): Promise<WrittenBlob> {
  const { fetchSeconds, stallSeconds } = by.limits;
  const whole = deadline(
    by.clock,
    fetchSeconds * 1_000,
    new GatewayError("media.unavailable", `the download took longer than ${fetchSeconds} s`),
  );
  const ended = new AbortController();
  const stop = AbortSignal.any([signal, whole.signal, ended.signal]);
  try {
    const stallMs = stallSeconds * 1_000;
    const source = await unlessStalled(by.open(ref, stop), fetchSeconds * 1_000, by.clock, stop);
    return await by.blobs.write(unstalled(source, stallMs, by.clock, stop), capBytes);
  } finally {
    whole.clear();
    // A download that was given up lets go of its connection, which would stay open for as long as the other side likes.
    ended.abort();
  }
}

async function* unstalled(
  source: AsyncIterable<Uint8Array>,
  stallMs: number,
  clock: Clock,
  stop: AbortSignal,
): AsyncIterable<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await unlessStalled(chunks.next(), stallMs, clock, stop);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // The source may hang in its own read; its cleanup is not worth waiting for.
    void chunks.return?.().then(undefined, () => {});
  }
}

async function unlessStalled<T>(
  step: Promise<T>,
  stallMs: number,
  clock: Clock,
  stop: AbortSignal,
): Promise<T> {
  const stall = deadline(
    clock,
    stallMs,
    new GatewayError("media.unavailable", `the download stalled for ${stallMs / 1_000} s`),
  );
  let listener: (() => void) | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      const cut = (): void => reject(asError(stop.aborted ? stop.reason : stall.signal.reason));
      if (stop.aborted) cut();
      // Not a signal made of both: Node keeps such a one, with all that listens, until it aborts.
      stop.addEventListener("abort", cut, { once: true });
      stall.signal.addEventListener("abort", cut, { once: true });
      listener = cut;
      step.then(resolve, reject);
    });
  } finally {
    stall.clear();
    if (listener) stop.removeEventListener("abort", listener);
  }
}
