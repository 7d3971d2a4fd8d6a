import { systemClock } from "../../src/core/clock.ts";
import type { MediaLimits } from "../../src/media/limits.ts";
import type { Reading } from "../../src/media/reading.ts";
import { inThisProcess } from "../../src/media/workshop.ts";
import type { FileBlobs } from "../../src/store/blobs.ts";
import { memoryLog } from "./channel-host.ts";

/** Smaller than the usual ones, so that tests reach them with little data. */
export const MEDIA_LIMITS: MediaLimits & { readonly uploadDays: number } = {
  imageBytes: 20_000_000,
  documentBytes: 20_000_000,
  audioBytes: 20_000_000,
  videoBytes: 20_000_000,
  fetchSeconds: 60,
  stallSeconds: 10,
  workSeconds: 60,
  imagePixels: 50_000_000,
  pdfPages: 8,
  audioSeconds: 1_800,
  uploadDays: 30,
};

/**
 * What reading takes, in this process: an agent that sees pictures and hears nothing, nobody who transcribes, no ffmpeg.
 */
export function reading(blobs: FileBlobs, fields: Partial<Reading> & Pick<Reading, "open">): Reading {
  return {
    blobs,
    workshop: inThisProcess(blobs),
    limits: MEDIA_LIMITS,
    clock: systemClock,
    senses: { images: true, pdf: true, audio: false },
    transcriber: undefined,
    programs: { environment: {}, ffmpeg: undefined },
    log: memoryLog([]),
    listening: (work) => work(),
    ...fields,
  };
}
