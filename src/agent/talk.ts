import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { Blobs, Talk } from "../core/agent.ts";
import type { BlobRef, ContentBlock } from "../core/blocks.ts";
import { hasCode } from "../core/errors.ts";
import type { ThreadId } from "../core/identity.ts";
import type { ThreadGraph } from "./graph.ts";
import { withoutMachinePaths } from "./harness/machine-paths.ts";
import { isCorrection, perchContent } from "./messages.ts";
import type { Entry } from "./window/entries.ts";
import { readHistory } from "./window/history.ts";
import { mediaWords } from "./words.ts";

/** What a person says aloud is read like what they write; this much of it. */
const SPOKEN_CHARACTERS = 4_000;

/**
 * What was said in a thread behind the message with the id `after`, also what was summed up since, and the id of the last
 * message of it, whatever that is; `after` itself where there is none. All of it where that is "".
 */
export async function talkOf(
  graph: ThreadGraph,
  { thread, folder, blobs }: { readonly thread: ThreadId; readonly folder: string; readonly blobs: Blobs },
  after = "",
): Promise<{ readonly talk: readonly Talk[]; readonly last: string }> {
  const { values } = await graph.getState({ configurable: { thread_id: thread } });
  const { messages = [] } = (values ?? {}) as { messages?: readonly BaseMessage[] }; // the state of a graph, checked by loadGraph
  const at = after === "" ? -1 : messages.findIndex(({ id }) => id === after);
  const there = messages.slice(at + 1);
  const known = new Set(there.map(({ id }) => id));
  // What stands before a message that is still there has been gone through with it.
  const gone = at >= 0 ? [] : (await readHistory(folder, thread, after)).filter(({ id }) => !known.has(id));
  const talk = [
    ...gone.flatMap(ofEntry),
    ...(await Promise.all(there.map((message) => ofMessage(message, blobs)))).flat(),
  ].map((said) => ({ ...said, text: readable(said.text, folder) }));
  return { talk, last: there.at(-1)?.id ?? gone.at(-1)?.id ?? after };
}

function ofEntry({ id, role, text, sentAt }: Entry): readonly Talk[] {
  if (role === "tool" || text.trim() === "") return [];
  return [{ id, by: role, text, at: sentAt }];
}

/** Nothing of a tool, and nothing that a graph has said to itself. */
async function ofMessage(message: BaseMessage, blobs: Blobs): Promise<readonly Talk[]> {
  const id = message.id ?? "";
  if (AIMessage.isInstance(message)) {
    const { text } = message;
    return text.trim() === "" ? [] : [{ id, by: "agent", text, at: "" }];
  }
  const perch = perchContent(message);
  if (perch === undefined && !isCorrection(message)) return [];
  const words = perch
    ? await Promise.all(perch.content.map((block) => wordsOf(block, blobs)))
    : [message.text];
  const text = words.join("\n");
  return text.trim() === "" ? [] : [{ id, by: "person", text, at: perch?.sentAt ?? "" }];
}

async function wordsOf(block: ContentBlock, blobs: Blobs): Promise<string> {
  if (block.type === "text") return block.text;
  const spoken =
    block.type === "audio" && block.extract?.as === "transcript" ? block.extract.blob : undefined;
  const said = spoken === undefined ? "" : await textIn(spoken, blobs);
  const words = [block.caption ?? "", said].filter((part) => part !== "").join("\n");
  // What somebody else has said aloud is marked like what they have written.
  const marked = block.quoted || block.forwarded ? words.replaceAll(/^/gm, "> ") : words;
  return [`[${mediaWords(block, { paths: false })}]`, ...(words === "" ? [] : [marked])].join("\n");
}

async function textIn(blob: BlobRef, blobs: Blobs): Promise<string> {
  try {
    const text = Buffer.from(await blobs.read(blob)).toString("utf8");
    return text.slice(0, SPOKEN_CHARACTERS).toWellFormed();
  } catch (error) {
    if (hasCode(error, "blob.missing")) return "";
    throw error;
  }
}

// Where media lie is nothing that is said.
const OURS = /\/(?:uploads|workspace|outputs|history)\/[^\s\])"'<>`]*/g;
/** Ids and words are shorter; bytes of the smallest picture are not. Without the look behind, each sign of a long word is a try. */
const BYTES = /data:[\w.+/;=-]{0,100};base64,[\w+/=-]*|(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{256,}={0,2}/g;

/** What somebody reads who has neither this machine nor the chat's folder. */
function readable(text: string, folder: string): string {
  return withoutMachinePaths(text.replaceAll(BYTES, "[bytes]"), folder)
    .replaceAll(/, at (?:"\/[^"\n]*"|\/[^\s\]]*)(?=\])/g, "")
    .replaceAll(OURS, "[a file]");
}
