import { HumanMessage, type ContentBlock as ModelBlock } from "@langchain/core/messages";
import type { AgentTurn, Blobs } from "../core/agent.ts";
import type { MediaBlock } from "../core/blocks.ts";
import { frame } from "./harness/frame.ts";
import { mediaWords } from "./words.ts";

/**
 * A turn for a graph that knows nothing of blobs: standard content blocks with their bytes. Documents whose text was
 * taken out come as that text, which every model reads; PDF comes as it is, because models see its pages.
 * @throws GatewayError "blob.missing".
 */
export async function asStandardBlocks(
  id: string,
  { content, sentAt }: Pick<AgentTurn, "content" | "sentAt">,
  blobs: Blobs,
): Promise<HumanMessage> {
  const blocks = await Promise.all(
    content.map(async (block): Promise<readonly ModelBlock.Standard[]> => {
      if (block.type === "text") return [text(block.text)];
      const caption = block.caption === undefined ? [] : [text(block.caption)];
      return [text(`[${mediaWords(block)}]`), await whole(block, blobs), ...caption];
    }),
  );
  return new HumanMessage({
    id,
    contentBlocks: blocks.flat(),
    additional_kwargs: { perch: { content, sentAt } },
  });
}

async function whole(block: MediaBlock, blobs: Blobs): Promise<ModelBlock.Standard> {
  if (block.extract !== undefined && block.mimeType !== "application/pdf") {
    const extract = await blobs.read(block.extract.blob);
    return text(frame(block.filename ?? block.type, Buffer.from(extract).toString("utf8")));
  }
  const data = Buffer.from(await blobs.read(block.blob)).toString("base64");
  return {
    type: block.type,
    mimeType: block.mimeType,
    data,
    ...(block.type === "file" ? { metadata: { filename: block.filename ?? "file" } } : {}),
  };
}

function text(words: string): ModelBlock.Text {
  return { type: "text", text: words };
}
