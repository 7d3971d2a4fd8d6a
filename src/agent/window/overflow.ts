import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";

/** What is left of a long result where the model takes no more. */
const HEAD_CHARACTERS = 4_000;

/**
 * The results behind the last thing that the model said, each cut to its beginning and, where it names a file that it stands
 * in whole, that name. Ids and calls stay; undefined where none of them is long.
 */
export function clippedTail(messages: readonly BaseMessage[]): readonly ToolMessage[] | undefined {
  const from = messages.findLastIndex((message) => AIMessage.isInstance(message));
  const long = messages
    .slice(from + 1)
    .filter((message) => ToolMessage.isInstance(message))
    .filter((message) => message.text.length > HEAD_CHARACTERS + MARGIN);
  return long.length === 0 ? undefined : long.map(clipped);
}

// What was cut before is not cut again for its own mark.
const MARGIN = 500;

function clipped(message: ToolMessage): ToolMessage {
  const { text, id, name, status, artifact } = message;
  const left = text.length - HEAD_CHARACTERS;
  const file = FILE.exec(text.slice(HEAD_CHARACTERS))?.[0] ?? FILE.exec(text.slice(0, HEAD_CHARACTERS))?.[0];
  const where = file === undefined ? "" : `; all of it may be in ${file}, to be read in parts`;
  return new ToolMessage({
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    ...(status === undefined ? {} : { status }),
    ...(artifact === undefined ? {} : { artifact: artifact as unknown }),
    content: `${text.slice(0, HEAD_CHARACTERS).toWellFormed()}\n[… ${left} more characters are left out here, for want of room${where}]`,
    tool_call_id: message.tool_call_id,
    additional_kwargs: message.additional_kwargs,
  });
}

/** Where the harness puts what is too long for a thread. */
const FILE = /\/workspace\/[\w./-]{1,200}\w/;

/** The messages with these in the places of those with the same ids. */
export function inPlaces(
  messages: readonly BaseMessage[],
  changed: readonly BaseMessage[],
): readonly BaseMessage[] {
  const byId = new Map(changed.map((message) => [message.id, message]));
  return messages.map((message) => byId.get(message.id) ?? message);
}
