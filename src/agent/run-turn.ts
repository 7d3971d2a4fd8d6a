import { setMaxListeners } from "node:events";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { AgentAnswer, AgentTurn, Blobs } from "../core/agent.ts";
import { GatewayError } from "../core/errors.ts";
import { askGraph } from "./ask-graph.ts";
import type { BuiltAgent } from "./built.ts";
import { offerIn } from "./choices.ts";
import type { ThreadGraph } from "./graph.ts";
import { missingResults } from "./harness/repair.ts";
import { humanMessage, isCorrection, perchContent } from "./messages.ts";
import { glancing } from "./threads.ts";
import type { State, UploadedFile } from "./state.ts";
import { titleOf } from "./title.ts";
import { withTurn } from "./turn-config.ts";
import { nameOf } from "./words.ts";

// Supersteps, not seconds: the turn's time is the real limit, this one ends a graph that runs in a circle.
const STEPS = 200;

/** See `AgentRunner.run`. */
export async function runTurn(
  { graph, senses, files }: BuiltAgent,
  blobs: Blobs,
  turn: AgentTurn,
  signal: AbortSignal,
): Promise<AgentAnswer> {
  const config = { configurable: withTurn({ thread_id: turn.thread, hold: turn.hold }, turn) };
  // LangGraph leaves a listener for each step; the signal lives as long as the turn.
  setMaxListeners(0, signal);
  try {
    const ours = turn.agent.graph === undefined;
    const stands = async () => messagesOf((await graph.getState(glancing(config))).values);
    const before = await stands();
    const earlier = before.findLast((message) => isCopy(message, turn.messageId));
    const answered = earlier?.id === undefined ? undefined : answerTo(earlier.id, before);
    if (answered) return { ...answered, replayed: true, refused: refusedOf(earlier) };

    const id = idFor(turn.messageId, before);
    // One checkpoint at the end of the turn; what a crash loses is run again from the inbox.
    const options = { ...config, signal, recursionLimit: STEPS, durability: "exit" };
    const run = async (there: readonly BaseMessage[], messages: readonly BaseMessage[]) => {
      // A run that was cut off may have left calls without results, which no provider takes.
      const input = { ...(ours ? turnState(turn) : {}), messages: [...missingResults(there), ...messages] };
      return turn.onText
        ? await streamed(graph, input, options, turn.onText)
        : messagesOf(await graph.invoke(input, options));
    };
    const after = ours
      ? await run(before, [humanMessage(id, turn, files)])
      : await askGraph(
          id,
          turn,
          { blobs, senses },
          { messages: stands, run: async (input) => run(await stands(), input) },
        );
    signal.throwIfAborted();
    const answer = answerTo(id, after);
    const asked = after.find((message) => message.id === id);
    if (answer) return { ...answer, replayed: false, refused: refusedOf(asked) };
    throw new GatewayError("model.failed", `agent "${turn.agent.name}" ended its turn without any text`);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw (
      gatewayErrorIn(error) ??
      new GatewayError("model.failed", `agent "${turn.agent.name}" failed while it was running`, {
        cause: error,
      })
    );
  }
}

async function streamed(
  graph: ThreadGraph,
  input: object,
  options: object,
  onText: (text: string) => void,
): Promise<readonly BaseMessage[]> {
  let values: unknown;
  let speaking: string | undefined;
  let text = "";
  for await (const item of await graph.stream(input, { ...options, streamMode: ["messages", "values"] })) {
    const [mode, payload] = item as readonly [string, unknown]; // as a list of modes is streamed
    if (mode === "values") values = payload;
    if (mode !== "messages") continue;
    const [message, { langgraph_node: node }] = payload as readonly [
      BaseMessage,
      { langgraph_node?: string },
    ]; // so they are streamed
    // Only an assistant's text: `text` leaves reasoning out, and what a tool asks a model for is the tool's.
    if (!AIMessage.isInstance(message) || node === "tools" || message.text === "") continue;
    // A model that speaks, calls tools and speaks again begins anew: the answer is what it says last.
    if (message.id !== speaking) text = "";
    speaking = message.id;
    text += message.text;
    onText(text);
  }
  return messagesOf(values);
}

/**
 * What was finally said after this message and before the next one of a person; undefined if nothing was. Graphs write
 * human messages too, to hand their agents work or results: those are no person's.
 */
function answerTo(
  id: string,
  messages: readonly BaseMessage[],
): Pick<AgentAnswer, "markdown" | "choices" | "corrected"> | undefined {
  const asked = messages.findLastIndex((message) => message.id === id);
  const next = messages.findIndex((message, at) => at > asked && perchContent(message) !== undefined);
  const turn = messages.slice(asked + 1, next < 0 ? undefined : next);
  const said = turn.findLast((message) => AIMessage.isInstance(message));
  if (said === undefined || (said.tool_calls?.length ?? 0) > 0) return undefined;
  const offer = offerIn(turn);
  const markdown = [said.text, offer?.beside ?? ""].find((text) => text.trim() !== "");
  if (markdown === undefined) return undefined;
  const corrected = turn.filter(isCorrection).map((message) => message.id ?? "");
  return {
    markdown,
    ...(corrected.length === 0 ? {} : { corrected }),
    ...(offer ? { choices: offer.choices } : {}),
  };
}

/** Names of the media of a message that a model refused; the harness has written them down beside it. */
function refusedOf(message: BaseMessage | undefined): readonly string[] {
  const { content = [], refused = {} } = (message && perchContent(message)) ?? {};
  const blobs = new Set(Object.values(refused).flat());
  const names = content.flatMap((block) => {
    if (block.type === "text") return [];
    const own = [block.blob, ...(block.stills ?? []).map(({ blob }) => blob)];
    return own.some((blob) => blobs.has(blob)) ? [nameOf(block)] : [];
  });
  return [...new Set(names)];
}

/**
 * The id under which a message enters. One that failed and was passed by later messages enters anew at the end, or the
 * model would be asked to go on after its own last answer.
 */
function idFor(messageId: string, before: readonly BaseMessage[]): string {
  const last = before.findLast((message) => perchContent(message) !== undefined);
  const stands = before.some((message) => message.id === messageId);
  return stands && last?.id !== messageId ? `${messageId}${AGAIN}` : messageId;
}

const AGAIN = "/again";

function isCopy(message: BaseMessage, messageId: string): boolean {
  return message.id === messageId || message.id === `${messageId}${AGAIN}`;
}

function messagesOf(values: unknown): readonly BaseMessage[] {
  const { messages } = (values ?? {}) as { messages?: unknown }; // the state of a graph, checked by loadGraph
  return Array.isArray(messages) ? (messages as readonly BaseMessage[]) : [];
}

/** What a thread of ours is told of a turn beside its messages; reducers take it again without harm. */
function turnState({ content }: AgentTurn): State {
  const uploadedFiles = content.flatMap((block): readonly UploadedFile[] =>
    block.type === "text" || block.path === undefined || block.quoted
      ? []
      : [{ path: block.path, mimeType: block.mimeType, bytes: block.bytes }],
  );
  const title = titleOf(content);
  return {
    threadData: { uploads: "/uploads", workspace: "/workspace", outputs: "/outputs" },
    uploadedFiles,
    ...(title === "" ? {} : { title }),
  };
}

/** LangChain wraps what middleware throws. */
function gatewayErrorIn(thrown: unknown): GatewayError | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth += 1) {
    if (error instanceof GatewayError) return error;
  }
  return undefined;
}
