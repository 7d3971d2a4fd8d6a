import type { BaseMessage } from "@langchain/core/messages";
import type { AgentTurn } from "../core/agent.ts";
import { asStandardBlocks, type GraphShowing } from "./graph-message.ts";
import { refusesContent } from "./harness/errors.ts";
import { perchContent } from "./messages.ts";

/** A thread of an operator's graph. */
export type GraphThread = {
  /** What stands in it now. */
  readonly messages: () => Promise<readonly BaseMessage[]>;
  /** Runs the graph on further messages, or on others in the place of those whose ids they have; gives the whole thread. */
  readonly run: (input: readonly BaseMessage[]) => Promise<readonly BaseMessage[]>;
};

/**
 * Asks an operator's graph, which calls its model itself. Where that refuses what it was sent, the media of the message
 * become words, then those of the whole thread, and the graph is run again: no file can spoil a thread.
 */
export async function askGraph(
  id: string,
  turn: AgentTurn,
  showing: Omit<GraphShowing, "refusedBy">,
  thread: GraphThread,
): Promise<readonly BaseMessage[]> {
  try {
    return await thread.run([await asStandardBlocks(id, turn, showing)]);
  } catch (thrown) {
    if (!refusesContent(thrown)) throw thrown;
    const asWords = { ...showing, refusedBy: turn.agent.name };
    const human = await asStandardBlocks(id, turn, asWords);
    const earlier: BaseMessage[] = [];
    for (const message of await thread.messages()) {
      const perch = perchContent(message);
      if (perch && message.id !== undefined && message.id !== id && hasMedia(message))
        earlier.push(await asStandardBlocks(message.id, perch, asWords));
    }
    // Without what it has in it, nothing would be another request.
    const tries = [...(perchContent(human)?.refused ? [[]] : []), ...(earlier.length > 0 ? [earlier] : [])];
    for (const others of tries) {
      try {
        return await thread.run([...others, human]);
      } catch (again) {
        if (!refusesContent(again)) throw again;
      }
    }
    // It was not about the media; the first words say what it was about.
    throw thrown;
  }
}

function hasMedia({ content }: BaseMessage): boolean {
  return typeof content !== "string" && content.some(({ type }) => type !== "text");
}
