import { HumanMessage, type BaseMessage, type ContentBlock as ModelBlock } from "@langchain/core/messages";
import { isCorrection, isSteered, isTasks, noteIn, perchContent, viewedIn } from "../messages.ts";
import { MANY_PICTURES, type Part, partsOf, type Sent, type Showing } from "./medium.ts";

export type ShowLimits = {
  /** Media of the last so many human turns are shown; older ones stay words. */
  readonly mediaTurns: number;
  /** At most so many characters of documents, the newest turn first. */
  readonly characters: number;
  /** At most so many pictures, the newest turn first. */
  readonly pictures?: number;
};

/** Bytes that a request carries, and where: the indices of the message and of the part in it. */
export type Shown = Sent & { readonly message: number; readonly part: number };

/** Bytes of media in one request; in base64 they are a third more, and providers take 20 MB and upwards. */
const REQUEST_BYTES = 14_000_000;
/** Anthropic refuses a request with more: two videos are. */
const REQUEST_PICTURES = 100;

/**
 * Puts in what the references of the last few turns stand for, in the shapes that this model reads. Pure but for
 * reading blobs; the thread's own messages are not changed.
 */
export async function showMedia(
  messages: readonly BaseMessage[],
  { mediaTurns, characters, pictures = REQUEST_PICTURES }: ShowLimits,
  how: Omit<Showing, "room">,
): Promise<{ readonly messages: readonly BaseMessage[]; readonly shown: readonly Shown[] }> {
  const room = { characters, bytes: REQUEST_BYTES, pictures, largePictures: MANY_PICTURES };
  const told = [...messages];
  const shown: Shown[] = [];
  let turns = 0;
  for (let at = messages.length - 1; at >= 0 && turns < mediaTurns; at -= 1) {
    const message = messages[at] as BaseMessage; // within the array
    if (!HumanMessage.isInstance(message) || isCorrection(message) || isTasks(message)) continue;
    if (noteIn(message)) continue;
    const viewed = viewedIn(message);
    // What came while a turn ran is of the turn of the question before it.
    if (viewed === undefined && !isSteered(message)) turns += 1;
    const content = viewed ?? perchContent(message)?.content;
    if (content === undefined || content.every((block) => block.type === "text")) continue;
    const parts: Part[] = [];
    for (const block of content) {
      if (block.type === "text") parts.push({ block });
      else parts.push(...(await partsOf(block, { ...how, room })));
    }
    for (const [part, { sent }] of parts.entries()) if (sent) shown.push({ ...sent, message: at, part });
    const blocks = parts.map(({ block }) => block);
    // `contentBlocks` marks the message as made of standard blocks: only then do all converters read them right.
    told[at] = new HumanMessage({
      ...(message.id === undefined ? {} : { id: message.id }),
      ...(how.shapes.imageUrls ? { content: blocks.map(asImageUrl) } : { contentBlocks: blocks }),
      additional_kwargs: message.additional_kwargs,
    });
  }
  return { messages: told, shown };
}

function asImageUrl(block: ModelBlock.Standard): ModelBlock {
  if (block.type !== "image") return block;
  return { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data as string}` } }; // as partsOf made it
}
