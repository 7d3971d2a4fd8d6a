import type { ChannelLimits } from "../core/channel.ts";
import { GatewayError } from "../core/errors.ts";
import { asFile, type Fitted } from "../media/fit.ts";
import { sniff } from "../media/sniff.ts";
import { safeName } from "../core/names.ts";
import type { File } from "../media/taken.ts";
import type { Workshop } from "../media/workshop.ts";
import type { WrittenBlob } from "../store/blobs.ts";

/** What it takes to find the form of a medium. */
export type FormBy = {
  readonly shows: ChannelLimits["shows"];
  readonly workshop: Workshop;
  /** That a picture may declare before anything of it is decoded. */
  readonly imagePixels: number;
  readonly signal: AbortSignal;
};

/**
 * How a file goes out, by its bytes: as what the platform shows or plays, made into that where it is a picture, and
 * else as a file, which always goes.
 */
export async function formOf(written: WrittenBlob, filename: string, by: FormBy): Promise<Fitted> {
  const { ref: blob, bytes, head } = written;
  const { mimeType, kind } = await sniff(head, { filename, bytes });
  const file = { mimeType, blob, bytes, ...named(filename) };
  switch (kind) {
    case "image":
      return await picture(file, by);
    case "audio":
    case "video": {
      const forms = kind === "video" ? (["video"] as const) : isOpus(head) ? OPUS : (["audio"] as const);
      const as = forms.find((form) => {
        const showing = by.shows[form];
        return showing !== undefined && showing.types.includes(mimeType) && bytes <= showing.bytes;
      });
      return as === undefined ? asFile(file) : { as, media: { type: kind, ...file } };
    }
    case "file":
      return asFile(file);
  }
}

const OPUS = ["voice", "audio"] as const;

/** Whether it is Ogg whose first page begins Opus, which is what voice notes are. */
function isOpus(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(0, 64)).includes("OpusHead");
}

async function picture(file: File, { shows, imagePixels, workshop, signal }: FormBy): Promise<Fitted> {
  try {
    return await workshop.run("fit", { file, shows, imagePixels }, signal);
  } catch (error) {
    // A picture that cannot be looked at in time is still a file.
    if (error instanceof GatewayError && !signal.aborted) return asFile(file);
    throw error;
  }
}

function named(filename: string): { readonly filename?: string } {
  const name = safeName(filename);
  return name === undefined ? {} : { filename: name };
}
