import { randomUUID } from "node:crypto";
import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { Command } from "@langchain/langgraph";
import { createMiddleware, type AgentMiddleware } from "langchain";
import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import { remade } from "../remade.ts";
import { STATE, type State } from "../state.ts";
import { turnOf } from "../turn-config.ts";
import { withMadeCalls } from "./made-calls.ts";
import { type Asking, type Calling, composed, type Said, type StageParts } from "./stage.ts";
import { aroundModel, aroundTool } from "./stages.ts";

/**
 * All stages as one middleware that wraps the calls of model and tools: every hook of its own would be a graph node, and
 * a node costs a checkpoint. What others do after the model is done here before LangGraph sees its answer.
 */
export function harness(definition: AgentDefinition, parts: StageParts): AgentMiddleware {
  const modelStages = aroundModel(definition, parts).map(([, stage]) => stage);
  const toolStages = aroundTool(definition, parts).map(([, stage]) => stage);
  return createMiddleware({
    name: "Harness",
    stateSchema: STATE,
    async wrapModelCall(request, handler) {
      let raw: AIMessage | undefined;
      const taken = new Set(request.messages.map(({ id }) => id));
      const ask = composed(
        modelStages,
        async ({ messages, system, tools, toolless, model, choice, settings }): Promise<Said> => {
          const asked = {
            ...request,
            messages: [...messages],
            systemMessage: system,
            systemPrompt: request.systemPrompt,
            ...toolsOf(tools, toolless, choice),
            model,
          };
          raw = await handler(settings === undefined ? asked : { ...asked, modelSettings: settings });
          taken.add(named(raw, taken));
          return { answer: withMadeCalls(raw), update: {} };
        },
      );
      const said = await ask({
        messages: request.messages,
        state: request.state as unknown as State, // as STATE declares it
        system: request.systemMessage,
        tools: request.tools,
        model: request.model as BaseChatModel, // as buildAgent gave it
        choice: definition.model,
        turn: turnOf(request.runtime.configurable),
        signal: request.runtime.signal,
      });
      return outcome(said, raw);
    },
    wrapToolCall: async (request, handler) => {
      const { id = "", name, args } = request.toolCall;
      const call = composed(toolStages, async (calling: Calling) => {
        const toolCall = { ...request.toolCall, args: { ...calling.call.args } };
        return await handler({ ...request, toolCall, tool: calling.tool });
      });
      return await call({
        call: { id, name, args: args as Calling["call"]["args"] }, // a call's arguments are an object
        tool: request.tool,
        state: request.state as unknown as Calling["state"], // as STATE declares it
        turn: turnOf(request.runtime.configurable),
        signal: request.runtime.signal,
      });
    },
  });
}

/** A provider may refuse results of tools that it is not told of, so they are named and barred; Ollama has no bar. */
function toolsOf(
  tools: Asking["tools"],
  toolless: boolean | undefined,
  { provider }: ModelChoice,
): { readonly tools: Asking["tools"][number][]; readonly toolChoice?: "none" } {
  if (!toolless || tools.length === 0) return { tools: [...tools] };
  return provider === "ollama" ? { tools: [] } : { tools: [...tools], toolChoice: "none" };
}

/**
 * The message's id, and another where it has none of its own: some servers name all answers alike, or count anew when
 * they are begun anew, and an answer would take the place of one that stands in the thread.
 */
function named(message: AIMessage, taken: ReadonlySet<string | undefined>): string {
  const { id = "" } = message;
  if (id !== "" && !taken.has(id)) return id;
  message.id = randomUUID();
  // It is written down from there.
  message.lc_kwargs["id"] = message.id;
  return message.id;
}

/**
 * What LangChain is given back. It adds what it has itself seen the model say last, at the end, so where more than that is to be
 * kept that is taken out and the answer comes again behind the rest: a tool's result must follow its call, and the
 * next turn reads what was said last.
 */
function outcome({ answer, update }: Said, raw: AIMessage | undefined): AIMessage | Command {
  const { messages = [], ...fields } = update;
  if (messages.length === 0 && Object.keys(fields).length === 0) return answer;
  const gone = raw?.id === undefined ? [] : [new RemoveMessage({ id: raw.id })];
  // A message that is put in again under its own id takes its old place.
  const last = raw?.id === answer.id ? remade(answer, { id: randomUUID() }) : answer;
  const all: BaseMessage[] = [...gone, ...messages, last];
  return new Command({ update: { ...fields, messages: all } });
}
