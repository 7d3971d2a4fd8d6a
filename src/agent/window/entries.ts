import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { oneLine } from "../../core/words.ts";
import { perchContent } from "../messages.ts";

/** A message in words: what stands for it once it has left its thread. */
export type Entry = {
  /** Of the message. */
  readonly id: string;
  readonly role: "person" | "agent" | "tool";
  readonly text: string;
  /** ISO 8601, of what a person said; "" for all else. */
  readonly sentAt: string;
};

/** The entry of a message: text as it is, calls of tools and media as words, never bytes. */
export function entryOf(message: BaseMessage): Entry {
  const id = message.id ?? "";
  if (AIMessage.isInstance(message)) return { id, role: "agent", text: agentWords(message), sentAt: "" };
  if (ToolMessage.isInstance(message)) {
    const text = `[result of ${oneLine(message.name ?? "a tool")}]\n${plain(message)}`;
    return { id, role: "tool", text, sentAt: "" };
  }
  return { id, role: "person", text: plain(message), sentAt: perchContent(message)?.sentAt ?? "" };
}

function agentWords(message: AIMessage): string {
  const calls = (message.tool_calls ?? []).map(
    ({ name, args }) => `[calls ${oneLine(name)} with ${withoutBytes(JSON.stringify(args))}]`,
  );
  return [plain(message), ...calls].filter((part) => part !== "").join("\n");
}

function plain(message: BaseMessage): string {
  const { content } = message;
  const media =
    typeof content === "string"
      ? []
      : content.flatMap(({ type }) => (MEDIA.test(type) ? [`[${type.replace("_url", "")}]`] : []));
  return [withoutBytes(message.text), ...media].filter((part) => part !== "").join("\n");
}

const MEDIA = /^(image|image_url|input_image|audio|input_audio|video|file|input_file|document|media)$/;

// Ids, keys, hashes and signatures are shorter; prose has blanks. Looked for where such signs begin alone: to look at each of
// them takes seconds where a long text has many runs that are almost long enough.
const BYTES = /(?<![A-Za-z0-9+/_-])(?:data:[\w.+/;=-]{0,100};base64,)?[A-Za-z0-9+/_-]{1000,}={0,2}/g;

/** The text without what can only be the bytes of something. */
export function withoutBytes(text: string): string {
  return text.replaceAll(BYTES, () => "[bytes]");
}
