import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { MediaBlock } from "../core/blocks.ts";
import type { Studio, Thumbnail, Waveform } from "../core/host.ts";
import { type Clock, deadline } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { FileBlobs } from "../store/blobs.ts";
import type { MediaLimits } from "./limits.ts";
import type { Programs } from "./programs.ts";
import type { File } from "./taken.ts";
import type { Workshop } from "./workshop.ts";

/** Somebody waits for the answer that the file is in, which goes out without its small picture as well. */
const PATIENCE_MS = 20_000;

export type StudioParts = {
  readonly workshop: Workshop;
  readonly blobs: FileBlobs;
  readonly programs: Pick<Programs, "ffmpeg">;
  readonly limits: Pick<MediaLimits, "imagePixels" | "audioSeconds">;
  readonly clock: Clock;
  readonly log: Log;
};

/** A studio whose work is done in the workshop. */
export function studioIn(parts: StudioParts): Studio {
  const { workshop, blobs, limits, programs } = parts;
  const { ffmpeg } = programs;
  return {
    thumbnail: (media, side) =>
      unlessFailed("thumbnail", parts, async (signal): Promise<Thumbnail | undefined> => {
        const job = { file: fileOf(media), side, ffmpeg, imagePixels: limits.imagePixels };
        const made = await workshop.run("thumbnail", job, signal);
        return made && { ...made, jpeg: Buffer.from(made.jpeg, "base64") };
      }),
    waveform: (media, steps) =>
      unlessFailed("waveform", parts, async (signal): Promise<Waveform | undefined> => {
        const folder = await blobs.scratch();
        try {
          const job = {
            file: fileOf(media),
            steps,
            into: join(folder, "sound.wav"),
            seconds: limits.audioSeconds,
            ffmpeg,
          };
          const made = await workshop.run("waveform", job, signal);
          return made && { ...made, levels: Uint8Array.from(made.levels) };
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      }),
  };
}

function fileOf({ mimeType, blob, bytes }: MediaBlock): File {
  return { mimeType, blob, bytes };
}

async function unlessFailed<T>(
  kind: string,
  { clock, log }: StudioParts,
  work: (signal: AbortSignal) => Promise<T | undefined>,
): Promise<T | undefined> {
  const patience = deadline(clock, PATIENCE_MS, new Error(`it took over ${PATIENCE_MS / 1_000} s`));
  try {
    return await work(patience.signal);
  } catch (err) {
    log.info({ kind, err }, "a file goes out without its small picture or curve");
    return undefined;
  } finally {
    patience.clear();
  }
}
