import type { AttachmentOutcome, MediaKind, Unfetched } from "../core/blocks.ts";
import { type Clock, deadline } from "../core/clock.ts";
import { asError, GatewayError, hasCode } from "../core/errors.ts";
import type { FileBlobs, WrittenBlob } from "../store/blobs.ts";
import { takeDocument } from "./documents.ts";
import { takeImage } from "./images.ts";
import { safeName } from "./names.ts";
import { sniff } from "./sniff.ts";
import type { Taken } from "./taken.ts";

export type MediaLimits = {
  readonly imageBytes: number;
  readonly documentBytes: number;
  readonly audioBytes: number;
  readonly videoBytes: number;
  readonly fetchSeconds: number;
  readonly stallSeconds: number;
};

/**
 * Turns announced media into blocks: fetched into the blob store under a cap and two deadlines, sniffed, normalised.
 * Every failure but the caller's own abort is an outcome with words, so that the text beside it is kept.
 */
export async function takeIn(
  unfetched: Unfetched,
  by: {
    readonly open: (ref: string, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
    readonly blobs: FileBlobs;
    readonly limits: MediaLimits;
    readonly clock: Clock;
  },
  signal: AbortSignal,
): Promise<Taken> {
  const name = safeName(unfetched.declared.filename);
  try {
    const capBytes = capOf(unfetched.kind, by.limits);
    if ((unfetched.declared.bytes ?? 0) > capBytes) {
      return leftOut(
        unfetched,
        name,
        "too_large",
        `${mega(unfetched.declared.bytes ?? 0)}, over ${mega(capBytes)}`,
      );
    }
    const written = await fetchInto(unfetched.ref, capBytes, by, signal);
    if (written.bytes === 0) return leftOut(unfetched, name, "unreadable", "it is empty");
    return await understand(unfetched, name, written, by.blobs);
  } catch (error) {
    if (signal.aborted) throw error;
    const [outcome, why] = failure(error);
    return leftOut(unfetched, name, outcome, why);
  }
}

async function understand(
  unfetched: Unfetched,
  name: string | undefined,
  written: WrittenBlob,
  blobs: FileBlobs,
): Promise<Taken> {
  const { mimeType, kind } = await sniff(written.head, {
    mimeType: unfetched.declared.mimeType,
    filename: name,
    bytes: written.bytes,
  });
  const base = {
    mimeType,
    blob: written.ref,
    bytes: written.bytes,
    ...(name === undefined ? {} : { filename: name }),
  };
  switch (kind) {
    case "image":
      return { blocks: [await takeImage(base, blobs)], outcome: "seen" };
    case "file":
      return await takeDocument(base, blobs);
    case "audio":
    case "video": {
      const { durationSeconds } = unfetched.declared;
      const timed = durationSeconds === undefined ? base : { ...base, durationSeconds };
      return { blocks: [{ type: kind, ...timed }], outcome: "seen" };
    }
  }
}

/** Streams a file in. The deadline bounds the whole, the stall bound each wait for the next bytes. */
async function fetchInto(
  ref: string,
  capBytes: number,
  by: Parameters<typeof takeIn>[1],
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
    const source = await unlessStalled(by.open(ref, stop), stallMs, by.clock, stop);
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

function leftOut(
  unfetched: Unfetched,
  name: string | undefined,
  outcome: AttachmentOutcome,
  why: string,
): Taken {
  const called = name ?? unfetched.declared.label ?? unfetched.kind;
  // A bracket in the name must not end the ones around it.
  const what = called.replaceAll("[", "(").replaceAll("]", ")");
  return { blocks: [{ type: "text", text: `[${what}: not usable, ${why}]` }], outcome };
}

function failure(error: unknown): [AttachmentOutcome, string] {
  if (hasCode(error, "media.too_large")) return ["too_large", error.message];
  if (hasCode(error, "media.unreadable")) return ["unreadable", error.message];
  if (hasCode(error, "media.unavailable")) return ["unavailable", error.message];
  return ["unavailable", "the download failed"];
}

function capOf(kind: MediaKind, limits: MediaLimits): number {
  switch (kind) {
    case "image":
      return limits.imageBytes;
    case "audio":
      return limits.audioBytes;
    case "video":
      return limits.videoBytes;
    case "file":
      return limits.documentBytes;
  }
}

function mega(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}
