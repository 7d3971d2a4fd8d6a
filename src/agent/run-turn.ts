import { setMaxListeners } from "node:events";
import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import type { AgentAnswer, AgentTurn, Blobs } from "../core/agent.ts";
import type { BackgroundTask } from "../core/background.ts";
import { asError, GatewayError, gatewayErrorIn } from "../core/errors.ts";
import { say } from "../core/sentences.ts";
import { answerSince, answerTo, lastOfPerson, refusedOf, toldAfter } from "./answers.ts";
import { askGraph } from "./ask-graph.ts";
import { endedSince, ledgerOf } from "./background/ledger.ts";
import type { BuiltAgent } from "./built.ts";
import { earlierSteps } from "./harness/effects.ts";
import { missingResults } from "./harness/repair.ts";
import { answerIn, answering, chosenOf, type Interrupt, questionOf, raisedIn } from "./interrupts.ts";
import { humanMessage } from "./messages.ts";
import { answeredAlready, idFor, messagesOf, type Standing, standingOf, steeredIn } from "./standing.ts";
import type { State, UploadedFile } from "./state.ts";
import { STEPS } from "./steps.ts";
import { streamed } from "./stream.ts";
import { glancing } from "./threads.ts";
import { titleOf } from "./title.ts";
import { withTurn } from "./turn-config.ts";
import { windowUse } from "./window/measure.ts";

/** See `AgentRunner.run`. */
export async function runTurn(
  built: BuiltAgent,
  blobs: Blobs,
  turn: AgentTurn,
  signal: AbortSignal,
): Promise<AgentAnswer> {
  // LangGraph leaves a listener for each step; the signal lives as long as the turn.
  setMaxListeners(0, signal);
  try {
    return await new Run(built, blobs, turn, signal).answer();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // Our own agents are asked for their last word before that; a graph of the operator's may still run in a circle.
    if (asError(error).name === "GraphRecursionError")
      return { markdown: say("turn.too_many_steps", turn.language), replayed: false, refused: [] };
    throw (
      gatewayErrorIn(error) ??
      new GatewayError("model.failed", `agent "${turn.agent.name}" failed while it was running`, {
        cause: error,
      })
    );
  }
}

/** One turn on its thread. */
class Run {
  readonly #built: BuiltAgent;
  readonly #blobs: Blobs;
  readonly #turn: AgentTurn;
  readonly #signal: AbortSignal;
  readonly #config: object;
  /** What the graph has stopped to ask, the last time that it was run. */
  #raised: readonly Interrupt[] = [];
  /** What it was given the person's words for. */
  #answered: string | undefined;

  constructor(built: BuiltAgent, blobs: Blobs, turn: AgentTurn, signal: AbortSignal) {
    this.#built = built;
    this.#blobs = blobs;
    this.#turn = turn;
    this.#signal = signal;
    this.#config = { configurable: withTurn({ thread_id: turn.thread, hold: turn.hold }, turn) };
  }

  async answer(): Promise<AgentAnswer> {
    const standing = await standingOf(this.#built.graph, this.#config, this.#turn);
    const already = answeredAlready(standing, this.#turn);
    if (already) return { ...already, ...this.#about(standing.messages) };

    const id = idFor(this.#turn.messageId, standing.messages);
    const resumed = await this.#resumed(standing);
    const after = resumed ?? (await this.#asked(id, standing));
    this.#signal.throwIfAborted();
    const [question] = this.#raised;
    const answer = question
      ? {
          ...questionOf(question, this.#turn.language),
          ...toldAfter(lastOfPerson(after)?.id ?? "", after),
        }
      : resumed
        ? answerSince(standing.messages, after)
        : answerTo(id, after);
    if (!answer)
      throw new GatewayError(
        "model.failed",
        `agent "${this.#turn.agent.name}" ended its turn without any text`,
      );
    const asked = [after.find((message) => message.id === id), ...steeredIn(answer, after)];
    const refused = [...new Set(asked.flatMap(refusedOf))];
    const answered = resumed && this.#answered !== undefined ? { answered: this.#answered } : {};
    return { ...answer, ...answered, ...this.#about(after), replayed: false, refused };
  }

  /**
   * Gives what a thread waits for to it: the whole thread then, or undefined where it waits for nothing, or cannot go on
   * with that. What it waited for is put aside by the turn that is run instead.
   */
  async #resumed({ pending, begun, acted }: Standing): Promise<readonly BaseMessage[] | undefined> {
    const { answers } = this.#turn;
    const mayAnswer = ({ id }: Interrupt): boolean =>
      begun === undefined ? answers === undefined || answers.includes(id) : id === begun;
    const waits = pending.find(mayAnswer);
    const words = answerIn(this.#turn.content);
    // What it has done outside meanwhile is not in the thread: an answer to an interrupt would do it again.
    if (!waits || words === undefined || acted.length > 0) return undefined;
    // A crash behind it must not give the same words to the next question.
    await this.#turn.effects?.begin(answering(waits.id), String(this.#turn.messages ?? 1));
    this.#answered = waits.id;
    try {
      return await this.#through(new Command({ resume: { [waits.id]: chosenOf(waits, words) } }));
    } catch (error) {
      if (this.#signal.aborted || gatewayErrorIn(error)) throw error;
      return undefined;
    }
  }

  /** Asks the agent; gives the whole thread. */
  async #asked(id: string, standing: Standing): Promise<readonly BaseMessage[]> {
    const { messages: before, state, pending, acted } = standing;
    const { agent } = this.#turn;
    const { senses, files } = this.#built;
    const past = earlierSteps(before, acted);
    // A run that was cut off may have left calls without results, which no provider takes.
    const known = new Set(past.lacking.map((result) => result.tool_call_id));
    // What could not be resumed may have left something there.
    const { messages: there, loose } =
      pending.length > 0 ? await standingOf(this.#built.graph, this.#config, this.#turn) : standing;
    const whole = (
      thread: readonly BaseMessage[],
      further: readonly BaseMessage[],
    ): readonly BaseMessage[] => [
      // What an earlier attempt was told while it ran waits again, or has come to belong to the message itself.
      ...(toldAfter(id, thread).steered ?? []).map((steered) => new RemoveMessage({ id: steered })),
      ...loose.results,
      ...past.lacking,
      ...missingResults(thread).filter((result) => !known.has(result.tool_call_id)),
      ...further,
    ];
    if (agent.graph !== undefined)
      return await askGraph(
        id,
        this.#turn,
        { blobs: this.#blobs, senses },
        {
          messages: () => this.#messages(),
          run: async (further) => this.#through({ messages: whole(await this.#messages(), further) }),
        },
      );
    const tasks = (await this.#turn.tasks?.list()) ?? [];
    const ended = endedSince(state.asyncTasks, tasks, id);
    const further = [...(ended ? [ended] : []), humanMessage(id, this.#turn, files), ...past.steps];
    return await this.#through({
      ...loose.fields,
      ...past.fields,
      ...turnState(this.#turn, tasks),
      messages: whole(there, further),
    });
  }

  /** Runs the graph; gives the whole thread. */
  async #through(input: object): Promise<readonly BaseMessage[]> {
    const { graph } = this.#built;
    const { onText, agent } = this.#turn;
    // One checkpoint at the end of the turn; what a crash loses is run again from the inbox.
    const options = { ...this.#config, signal: this.#signal, recursionLimit: STEPS, durability: "exit" };
    const values = onText
      ? await streamed(graph, input, options, { ours: agent.graph === undefined, onText })
      : await graph.invoke(input, options);
    this.#raised = raisedIn(values);
    return messagesOf(values);
  }

  async #messages(): Promise<readonly BaseMessage[]> {
    return messagesOf((await this.#built.graph.getState(glancing(this.#config))).values);
  }

  /** What is told of a thread without reading it. */
  #about(messages: readonly BaseMessage[]): Pick<AgentAnswer, "title" | "window"> {
    const { agent, content } = this.#turn;
    const { room } = this.#built;
    const title = titleOf(content);
    return {
      ...(title === "" ? {} : { title }),
      ...(room === undefined
        ? {}
        : { window: windowUse(messages, { agent, choice: agent.model, window: room.window }) }),
    };
  }
}

/** What a thread of ours is told of a turn beside its messages; reducers take it again without harm. */
function turnState({ content }: AgentTurn, tasks: readonly BackgroundTask[]): State {
  const uploadedFiles = content.flatMap((block): readonly UploadedFile[] =>
    block.type === "text" || block.path === undefined || block.quoted
      ? []
      : [{ path: block.path, mimeType: block.mimeType, bytes: block.bytes }],
  );
  const title = titleOf(content);
  return {
    threadData: { uploads: "/uploads", workspace: "/workspace", outputs: "/outputs" },
    uploadedFiles,
    ...(tasks.length === 0 ? {} : { asyncTasks: ledgerOf(tasks) }),
    ...(title === "" ? {} : { title }),
  };
}
