import { HumanMessage } from "@langchain/core/messages";
import type { Blobs, Senses } from "../core/agent.ts";
import type { BlobRef, MediaBlock } from "../core/blocks.ts";
import { type Part, partsOf } from "./harness/medium.ts";
import { IMAGES, type Shapes } from "./harness/shapes.ts";
import { type PerchContent, perchOf } from "./messages.ts";

export type GraphShowing = {
  readonly blobs: Blobs;
  readonly senses: Senses;
  /** Who has refused the media: words stand for all of them then, and that is written down under this name. */
  readonly refusedBy?: string;
};

/**
 * A turn for a graph that knows nothing of blobs: standard content blocks with their bytes, for pictures, PDF and sound
 * that its model takes; the text of documents and transcripts; words for the rest.
 */
export async function asStandardBlocks(
  id: string,
  said: PerchContent,
  { blobs, senses, refusedBy: by }: GraphShowing,
): Promise<HumanMessage> {
  const room = { characters: Infinity, bytes: Infinity, pictures: Infinity, largePictures: Infinity };
  const refused: BlobRef[] = [];
  const hidden = (blob: BlobRef): boolean => {
    if (by !== undefined) refused.push(blob);
    return by !== undefined;
  };
  const parts: Part[] = [];
  for (const block of said.content) {
    if (block.type === "text") parts.push({ block });
    else {
      const shapes = standard(senses, block);
      parts.push(...(await partsOf(block, { shapes, blobs, paths: false, hidden, room })));
    }
  }
  return new HumanMessage({
    id,
    contentBlocks: parts.map(({ block }) => block),
    additional_kwargs: {
      perch: {
        ...perchOf(said),
        ...(by === undefined || refused.length === 0 ? {} : { refused: { [by]: refused } }),
      },
    },
  });
}

/** Sound keeps its type: what the graph's model takes is known to the graph alone. */
function standard({ images, pdf, audio }: Senses, { type, mimeType }: MediaBlock): Shapes {
  const sound = audio && type === "audio" ? [[mimeType, mimeType] as const] : [];
  return { images: images ? IMAGES : new Set(), pdf, audio: new Map(sound), imageUrls: false };
}
