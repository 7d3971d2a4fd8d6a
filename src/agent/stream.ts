import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ThreadGraph } from "./graph.ts";
import { ASIDE } from "./harness/aside.ts";
import { withoutThoughts } from "./thoughts.ts";

type Metadata = {
  readonly langgraph_node?: string;
  readonly langgraph_checkpoint_ns?: string;
  readonly langgraph_step?: number;
  readonly tags?: readonly string[];
};

/** Runs a graph and tells `onText` what its assistant has said so far; gives the values it ends with. */
export async function streamed(
  graph: ThreadGraph,
  input: object,
  options: object,
  { ours, onText }: { readonly ours: boolean; readonly onText: (text: string) => void },
): Promise<unknown> {
  let values: unknown;
  let speaking: string | undefined;
  let text = "";
  for await (const item of await graph.stream(input, { ...options, streamMode: ["messages", "values"] })) {
    const [mode, payload] = item as readonly [string, unknown]; // as a list of modes is streamed
    // What interrupts a run comes by itself, after the values.
    if (mode === "values") values = { ...(values as object), ...(payload as object) };
    if (mode !== "messages") continue;
    const [message, metadata] = payload as readonly [BaseMessage, Metadata]; // so they are streamed
    // `text` leaves reasoning out.
    if (!AIMessage.isInstance(message) || message.text === "" || !forPeople(metadata, ours)) continue;
    // A model that speaks, calls tools and speaks again begins anew: the answer is what it says last.
    // Some servers name all answers alike.
    const speaker = `${metadata.langgraph_step ?? ""}/${message.id ?? ""}`;
    if (speaker !== speaking) text = "";
    speaking = speaker;
    text += message.text;
    const spoken = ours ? withoutThoughts(text, true) : text;
    if (spoken !== "") onText(spoken);
  }
  return values;
}

// LangChain's name for the node of an agent's own model.
const MODEL = "model_request";

/**
 * Of an agent of ours only what its own model says to answer: not what summaries, graders, tools and subagents say. Of an
 * operator's graph, whose nodes have any names, everything but what its tools say.
 */
function forPeople(
  { langgraph_node: node, langgraph_checkpoint_ns: path = "", tags }: Metadata,
  ours: boolean,
): boolean {
  if (tags?.includes(ASIDE)) return false;
  const places = path.split("|");
  if (ours) return node === MODEL && places.length === 1;
  return node !== "tools" && !places.some((place) => place.startsWith("tools:"));
}
