import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { Blobs } from "../core/agent.ts";
import type { ContentBlock, MediaBlock } from "../core/blocks.ts";
import { hasCode } from "../core/errors.ts";
import { isSteered, perchContent } from "./messages.ts";
import { bytesWords, durationWords } from "../core/words.ts";
import { firstWords } from "./words.ts";

/**
 * What answers when no model is configured: it says so, tells what it received and what it remembers, and can send a
 * picture and a table, so that everything but the model can be tried. The same input has the same answer.
 */
export class DemoModel extends BaseChatModel {
  readonly #blobs: Blobs;

  constructor(blobs: Blobs) {
    super({});
    this.#blobs = blobs;
  }

  override _llmType(): string {
    return "demo";
  }

  /** It has no use for tools, but agents insist on giving them. */
  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const text = await demoAnswer(messages, this.#blobs);
    return { generations: [{ text, message: new AIMessage(text) }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const text = await demoAnswer(messages, this.#blobs);
    for (const word of text.match(/\s*\S+/g) ?? []) {
      const chunk = new ChatGenerationChunk({ text: word, message: new AIMessageChunk(word) });
      yield chunk;
      await run?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

const SET_UP =
  "**No model is set up yet**, so this is Perch's built-in demo agent. For real answers set " +
  "`PERCH_MODEL=openai:gpt-5` and `OPENAI_API_KEY`, or `model:` in the agent's front matter.";

/** "Here is a photo" beside a photo asks for none. */
function wantsPicture(asked: string, received: readonly ContentBlock[]): boolean {
  if (!/\b(picture|image|photo|bild)\b/i.test(asked)) return false;
  const bringsMedia = received.some((block) => block.type !== "text");
  return !bringsMedia || /\b(send|show|give|draw|want|back|zeig|schick|gib|mal)/i.test(asked);
}

async function demoAnswer(messages: readonly BaseMessage[], blobs: Blobs): Promise<string> {
  // Words of ours on the human side are nobody's message.
  const turns: ContentBlock[][] = [];
  for (const message of messages) {
    const said = perchContent(message)?.content;
    if (said === undefined) continue;
    // What came while a turn ran is answered with its question.
    if (isSteered(message)) turns.at(-1)?.push(...said);
    else turns.push([...said]);
  }
  const received = turns.at(-1) ?? [];
  const earlier = turns.slice(0, -1);
  const asked = received
    .map((block) => (block.type === "text" ? block.text : (block.caption ?? "")))
    .join("\n");

  const parts = [SET_UP, `I received:\n\n${(await lines(received, blobs)).join("\n")}`, remembered(earlier)];
  if (wantsPicture(asked, received)) {
    parts.push("Here is a picture:", "![A kingfisher on a perch](kingfisher.png)");
  }
  if (/\b(table|tabelle)\b/i.test(asked)) parts.push(table(turns));
  return parts.join("\n\n");
}

async function lines(content: readonly ContentBlock[], blobs: Blobs): Promise<readonly string[]> {
  return Promise.all(
    content.map(async (block) => {
      if (block.type === "text") return `- text: “${escaped(firstWords(block.text, 12))}”`;
      const name = block.filename === undefined ? "" : ` ${escaped(block.filename)}`;
      const caption =
        block.caption === undefined ? "" : `; it says “${escaped(firstWords(block.caption, 12))}”`;
      return `- ${block.type}${name}: ${measures(block).join(", ")}${caption}${await beginning(block, blobs)}`;
    }),
  );
}

async function beginning({ extract }: MediaBlock, blobs: Blobs): Promise<string> {
  if (extract === undefined) return "";
  try {
    const text = Buffer.from(await blobs.read(extract.blob)).toString("utf8");
    const what = extract.as === "transcript" ? "what is said in it" : "its text";
    return `; ${what} begins “${escaped(firstWords(text, 12))}”`;
  } catch (error) {
    if (hasCode(error, "blob.missing")) return "; its text is no longer available";
    throw error;
  }
}

function measures(block: MediaBlock): readonly string[] {
  return [
    block.mimeType,
    bytesWords(block.bytes),
    ...(block.width !== undefined && block.height !== undefined
      ? [`${block.width} × ${block.height} px`]
      : []),
    ...(block.durationSeconds === undefined ? [] : [durationWords(block.durationSeconds)]),
    ...(block.note === undefined ? [] : [block.note]),
  ];
}

function remembered(earlier: readonly (readonly ContentBlock[])[]): string {
  const last = earlier.at(-1);
  if (last === undefined) return "This is the first message of yours that I remember in this chat.";
  const words = last
    .map((block) => (block.type === "text" ? firstWords(block.text, 8) : block.type))
    .join(", ");
  const count = earlier.length === 1 ? "1 earlier message" : `${earlier.length} earlier messages`;
  return `I remember ${count} of yours in this chat; the last one: “${escaped(words)}”.`;
}

function table(turns: readonly (readonly ContentBlock[])[]): string {
  const rows = turns.flatMap((content, at) =>
    content.map((block) => {
      const what =
        block.type === "text"
          ? firstWords(block.text, 6)
          : [block.filename ?? "", ...measures(block)].join(" ").trim();
      return `| ${at + 1} | ${block.type} | ${escaped(what)} |`;
    }),
  );
  return ["| Message | Kind | What |", "| ---: | --- | --- |", ...rows].join("\n");
}

/** Words of others, so that they read as they are and make no Markdown. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>#|~!]/g, String.raw`\$&`);
}
