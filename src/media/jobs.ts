import type { FileBlobs } from "../store/blobs.ts";
import type { DocumentJob } from "./documents.ts";
import type { FitJob } from "./fit.ts";
import type { FramesJob } from "./frames.ts";
import type { ImageJob } from "./images.ts";
import type { SoundJob } from "./sound.ts";
import type { ThumbnailJob } from "./thumbnail.ts";
import type { WaveformJob } from "./waveform.ts";

/**
 * The work on media that is not done in the gateway's own process: untrusted bytes meet decoders here, which may hang,
 * crash or eat memory. What a job needs and gives is plain JSON; bytes go through the blob store.
 */
const JOBS = {
  image: async (job: ImageJob, blobs: FileBlobs) => (await import("./images.ts")).takeImage(job, blobs),
  document: async (job: DocumentJob, blobs: FileBlobs) =>
    (await import("./documents.ts")).takeDocument(job, blobs),
  sound: async (job: SoundJob, blobs: FileBlobs) => (await import("./sound.ts")).takeSound(job, blobs),
  frames: async (job: FramesJob, blobs: FileBlobs) => (await import("./frames.ts")).takeFrames(job, blobs),
  fit: async (job: FitJob, blobs: FileBlobs) => (await import("./fit.ts")).fitImage(job, blobs),
  thumbnail: async (job: ThumbnailJob, blobs: FileBlobs) =>
    (await import("./thumbnail.ts")).makeThumbnail(job, blobs),
  waveform: async (job: WaveformJob, blobs: FileBlobs) =>
    (await import("./waveform.ts")).makeWaveform(job, blobs),
} as const;

type Jobs = typeof JOBS;
export type JobKind = keyof Jobs;
export type JobNeeds<K extends JobKind> = Parameters<Jobs[K]>[0];
export type JobGives<K extends JobKind> = Awaited<ReturnType<Jobs[K]>>;

export async function perform<K extends JobKind>(
  kind: K,
  needs: JobNeeds<K>,
  blobs: FileBlobs,
): Promise<JobGives<K>> {
  // The compiler does not see that one K stands in all three places.
  const job = JOBS[kind] as (needs: JobNeeds<K>, blobs: FileBlobs) => Promise<JobGives<K>>;
  return await job(needs, blobs);
}
