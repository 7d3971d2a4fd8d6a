import type { MediaKind, Unfetched } from "../core/blocks.ts";
import { GatewayError, hasCode, systemCode } from "../core/errors.ts";
import { fetchInto } from "./fetch.ts";
import { NotNow } from "./lanes.ts";
import type { MediaLimits } from "./limits.ts";
import { safeName } from "../core/names.ts";
import { overMinutes } from "./minutes.ts";
import { withPreview } from "./preview.ts";
import type { Reading } from "./reading.ts";
import { sniff } from "./sniff.ts";
import { type Fetched, type Taken, tooLarge, unusable } from "./taken.ts";
import { isTextType } from "./text-types.ts";
import { takeAudio, tooLong } from "./voice.ts";
import { takeVideo } from "./video.ts";

/**
 * Turns announced media into blocks: fetched into the blob store under a cap and two deadlines, sniffed, normalised.
 * Every failure but the caller's own abort, or a lane that takes no work now, is an outcome with words, so that the
 * text beside it is kept.
 */
export async function takeIn(unfetched: Unfetched, by: Reading, signal: AbortSignal): Promise<Taken> {
  const taken = await takeItself(unfetched, by, signal);
  return taken.notice ? await withPreview(taken, unfetched, by, signal) : taken;
}

async function takeItself(unfetched: Unfetched, by: Reading, signal: AbortSignal): Promise<Taken> {
  const { kind, ref, declared } = unfetched;
  const name = safeName(declared.filename);
  const called = name ?? `the ${declared.label ?? kind}`;
  // What is declared is believed where it is against the file: it then need not be fetched.
  if ((declared.bytes ?? 0) > capOf(kind, by.limits))
    return tooLarge(called, declared.bytes, capOf(kind, by.limits));
  if (kind === "audio" && !by.part && (declared.durationSeconds ?? 0) > by.limits.audioSeconds)
    return tooLong(called, declared.durationSeconds, by.limits.audioSeconds);
  // What would not be listened to anyway is no use of minutes.
  const isHeard = kind === "video" || (kind === "audio" && (by.transcriber ?? by.senses.audio));
  const over = isHeard && !by.part ? await by.minutes?.fits(declared.durationSeconds ?? 0) : undefined;
  if (over) return overMinutes(called, over);
  let fetched: Fetched | undefined;
  try {
    const written = await fetchInto(ref, capOf(kind, by.limits), by, signal);
    if (written.bytes === 0) return unusable(called, "unreadable", "media.empty");
    const { mimeType, kind: is } = await sniff(written.head, {
      mimeType: declared.mimeType,
      filename: name,
      bytes: written.bytes,
    });
    fetched = {
      file: {
        mimeType,
        blob: written.ref,
        bytes: written.bytes,
        ...(name === undefined ? {} : { filename: name }),
      },
      called,
      ...(declared.durationSeconds === undefined ? {} : { durationSeconds: declared.durationSeconds }),
    };
    if (written.bytes > capOf(is, by.limits)) return tooLarge(called, written.bytes, capOf(is, by.limits));
    if (is === "file" && isInstead(kind, mimeType, name))
      return unusable(called, "unreadable", "media.broken");
    const taken = await understand(is, fetched, by, signal);
    return taken.notice ? taken : { original: fetched.file, ...taken };
  } catch (error) {
    if (signal.aborted || error instanceof NotNow) throw error;
    if (hasCode(error, "media.too_large")) return tooLarge(called, declared.bytes, capOf(kind, by.limits));
    if (hasCode(error, "media.too_slow"))
      return unusable(called, "unreadable", "media.too_slow", { seconds: by.limits.workSeconds });
    // The disk's fault is not the file's: it can be sent again.
    if (fetched === undefined || hasCode(error, "media.unavailable") || hasCode(error, "blob.missing")) {
      // Only our own words are free of addresses and tokens.
      const why = error instanceof GatewayError ? error.message : (systemCode(error) ?? "a fault");
      by.log.warn({ why }, "a download failed");
      return unusable(called, "unavailable", "media.unavailable");
    }
    if (!hasCode(error, "media.unreadable")) by.log.error({ err: error }, "an attachment could not be read");
    return unusable(called, "unreadable", "media.broken");
  }
}

/**
 * Whether this is what a server says instead of a picture or a sound: a page, and in the place of a photo any text. Text with
 * a name of its own was sent as it is, however it was declared: TypeScript goes by the name of a video.
 */
function isInstead(kind: MediaKind, mimeType: string, name: string | undefined): boolean {
  if (kind === "file") return false;
  if (mimeType === "text/html") return true;
  if (kind !== "image") return false;
  return mimeType === "application/octet-stream" || (name === undefined && isTextType(mimeType));
}

function understand(kind: MediaKind, fetched: Fetched, by: Reading, signal: AbortSignal): Promise<Taken> {
  const { workshop, limits, senses, part } = by;
  const some = part === undefined ? {} : { part };
  switch (kind) {
    case "image":
      return workshop.run("image", { fetched, limits }, signal);
    case "file":
      return workshop.run("document", { fetched, limits, sees: senses.images, ...some }, signal);
    case "audio":
      return takeAudio(fetched, by, signal);
    case "video":
      return takeVideo(fetched, by, signal);
  }
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
