import type { Still, Unfetched } from "../core/blocks.ts";
import { fetchInto } from "./fetch.ts";
import type { Reading } from "./reading.ts";
import { sniff } from "./sniff.ts";
import type { Taken } from "./taken.ts";

/**
 * A medium of which nothing could be shown, with the small picture that its platform has of it. One that is whole and
 * only cannot be opened here is then seen after all; of any other the person is still told what is wrong with it.
 */
export async function withPreview(
  taken: Taken,
  { thumbnail }: Unfetched,
  by: Reading,
  signal: AbortSignal,
): Promise<Taken> {
  // What could not be downloaded is to be sent again.
  if (thumbnail === undefined || taken.outcome === "unavailable" || !by.senses.images) return taken;
  const preview = await previewAt(thumbnail, by, signal);
  if (!preview) return taken;
  const { label, ...picture } = preview;
  const medium = taken.blocks.find((block) => block.type !== "text");
  if (!medium) {
    const shown = { type: "image", mimeType: "image/jpeg", ...picture, note: `${label} of it` } as const;
    return { ...taken, blocks: [...taken.blocks, shown] };
  }
  const { notice: _untold, ...kept } = taken;
  const note = "only a preview of it can be shown here";
  return { ...kept, blocks: [{ ...medium, stills: [preview], note }], outcome: "seen" };
}

/** Undefined where it cannot be had: it was only the second best. */
async function previewAt(ref: string, by: Reading, signal: AbortSignal): Promise<Still | undefined> {
  const { workshop, limits } = by;
  try {
    const { ref: blob, bytes, head } = await fetchInto(ref, limits.imageBytes, by, signal);
    const { mimeType } = await sniff(head, { bytes });
    const fetched = { file: { mimeType, blob, bytes }, called: "the preview" };
    const [block] = (await workshop.run("image", { fetched, limits }, signal)).blocks;
    if (block?.type !== "image" || block.mimeType !== "image/jpeg") return undefined;
    const { width = 0, height = 0 } = block; // always told of a picture
    return { blob: block.blob, bytes: block.bytes, width, height, label: "preview" };
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}
