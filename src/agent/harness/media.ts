import { HumanMessage, type BaseMessage, type ContentBlock as ModelBlock } from "@langchain/core/messages";
import type { Blobs } from "../../core/agent.ts";
import type { MediaBlock } from "../../core/blocks.ts";
import { hasCode } from "../../core/errors.ts";
import { perchContent } from "../messages.ts";
import { mediaWords } from "../words.ts";
import { frame } from "./frame.ts";
import { shownAs, type Sight } from "./sight.ts";

export type MediaLimits = {
  /** Media of the last so many human turns are shown; older ones stay words. */
  readonly mediaTurns: number;
  /** At most so many characters of documents, the newest first. */
  readonly characters: number;
};

/**
 * Puts in what the references of the last few turns stand for: bytes as far as the model can see them, the text of
 * documents in a frame, words for the rest. Pure but for reading blobs; the thread's own messages are not changed.
 */
export async function showMedia(
  messages: readonly BaseMessage[],
  { mediaTurns, characters }: MediaLimits,
  sight: Sight,
  blobs: Blobs,
): Promise<readonly BaseMessage[]> {
  const budget = { characters };
  const shown = [...messages];
  let turns = 0;
  for (let at = messages.length - 1; at >= 0 && turns < mediaTurns; at -= 1) {
    const message = messages[at] as BaseMessage; // within the array
    if (!HumanMessage.isInstance(message)) continue;
    turns += 1;
    const content = perchContent(message)?.content;
    if (content === undefined || content.every((block) => block.type === "text")) continue;
    const blocks: ModelBlock.Standard[] = [];
    for (const block of content) {
      if (block.type === "text") blocks.push({ type: "text", text: block.text });
      else blocks.push(...(await showOne(block, sight, blobs, budget)));
    }
    // `contentBlocks` marks the message as made of standard blocks: only then do all converters read them right.
    shown[at] = new HumanMessage({
      ...(message.id === undefined ? {} : { id: message.id }),
      ...(sight.imageUrls ? { content: blocks.map(asImageUrl) } : { contentBlocks: blocks }),
      additional_kwargs: message.additional_kwargs,
    });
  }
  return shown;
}

async function showOne(
  block: MediaBlock,
  sight: Sight,
  blobs: Blobs,
  budget: { characters: number },
): Promise<readonly ModelBlock.Standard[]> {
  const caption = block.caption === undefined ? [] : [text(block.caption)];
  const as = shownAs(block, sight);
  if (as !== undefined) {
    const bytes = await readIfThere(blobs, block.blob);
    if (bytes === undefined) return [text(`[${mediaWords(block)}: no longer available]`), ...caption];
    const data = Buffer.from(bytes).toString("base64");
    // OpenAI wants a name for every file.
    const metadata = as.type === "file" ? { metadata: { filename: block.filename ?? "document.pdf" } } : {};
    return [
      text(`[${mediaWords(block)}]`),
      { type: as.type, mimeType: as.mimeType, data, ...metadata },
      ...caption,
    ];
  }
  if (block.extract === undefined) {
    return [text(`[${mediaWords(block)}: you are not shown its contents]`), ...caption];
  }
  const extract = await readIfThere(blobs, block.extract.blob);
  if (extract === undefined) return [text(`[${mediaWords(block)}: no longer available]`), ...caption];
  const whole = Buffer.from(extract).toString("utf8");
  const taken = whole.slice(0, budget.characters);
  budget.characters -= taken.length;
  if (taken === "")
    return [text(`[${mediaWords(block)}: left out, too much text for one request]`), ...caption];
  const shortened = taken.length < whole.length || block.extract.shortened === true ? "; shortened" : "";
  return [
    text(`[${mediaWords(block)}${shortened}]`),
    text(frame(block.filename ?? block.type, taken)),
    ...caption,
  ];
}

function asImageUrl(block: ModelBlock.Standard): ModelBlock {
  if (block.type !== "image") return block;
  return { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data as string}` } }; // as showOne made it
}

function text(words: string): ModelBlock.Text {
  return { type: "text", text: words };
}

async function readIfThere(blobs: Blobs, ref: Parameters<Blobs["read"]>[0]): Promise<Uint8Array | undefined> {
  try {
    return await blobs.read(ref);
  } catch (error) {
    // A turn must not fail for a file that was cleaned away; the model is told.
    if (hasCode(error, "blob.missing")) return undefined;
    throw error;
  }
}
