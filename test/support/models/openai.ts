import { openAiRefusal } from "./openai-rules.ts";
import {
  listOf,
  sse,
  startModelServer,
  textOf,
  tokens,
  type Answer,
  type Json,
  type ModelServer,
  type ModelServerOptions,
  type Protocol,
} from "./server.ts";

/** An OpenAI-compatible server: POST /v1/chat/completions, whole or streamed. */
export function startOpenAi(options: ModelServerOptions = {}): Promise<ModelServer> {
  return startModelServer(OPENAI, options);
}

const OPENAI: Protocol = {
  basePath: "/v1",
  serves: (path) => path === "/v1/chat/completions",

  lastUserText(body) {
    const asked = listOf(body["messages"]).findLast((message) => message["role"] === "user");
    return textOf(asked?.["content"]);
  },

  refusal: openAiRefusal,

  error: (status, message) => ({
    error: {
      message,
      type: "scripted",
      code: status === 401 ? "invalid_api_key" : null,
    },
  }),

  whole: (request, answer, number) => ({
    ...head(request.body, number, "chat.completion"),
    choices: [
      {
        index: 0,
        finish_reason: finish(answer),
        message: {
          role: "assistant",
          content: answer.text ?? null,
          // Not OpenAI's own: DeepSeek, vLLM and others put it there.
          ...(answer.reasoning !== undefined && { reasoning_content: answer.reasoning }),
          ...(answer.toolCalls && { tool_calls: toolCalls(answer, number) }),
        },
      },
    ],
    usage: usage(request.body, answer),
  }),

  stream(request, answer, number) {
    const base = head(request.body, number, "chat.completion.chunk");
    const chunk = (delta: Json, finishReason: string | null = null): string =>
      sse({ ...base, choices: [{ index: 0, delta, finish_reason: finishReason }] });
    const calls = toolCalls(answer, number).map((call, index) => chunk({ tool_calls: [{ index, ...call }] }));
    const options = request.body["stream_options"] as Json | undefined; // of a chat request
    return {
      open: [
        chunk({ role: "assistant", content: "" }),
        ...(answer.reasoning === undefined ? [] : [chunk({ reasoning_content: answer.reasoning })]),
      ].join(""),
      word: (word) => chunk({ content: word }),
      end: [
        ...calls,
        chunk({}, finish(answer)),
        options?.["include_usage"] === true
          ? sse({ ...base, choices: [], usage: usage(request.body, answer) })
          : "",
        sse("[DONE]"),
      ].join(""),
    };
  },
};

function head(body: Json, number: number, object: string): Json {
  return { id: `chatcmpl-${number}`, object, created: 1_700_000_000, model: body["model"] };
}

function finish(answer: Answer): string {
  return answer.finish ?? (answer.toolCalls ? "tool_calls" : "stop");
}

function toolCalls(answer: Answer, number: number): readonly Json[] {
  return (answer.toolCalls ?? []).map((call, index) => ({
    id: call.id ?? `call_${number}_${index}`,
    type: "function",
    function: { name: call.name, arguments: call.written ?? JSON.stringify(call.args) },
  }));
}

function usage(body: Json, answer: Answer): Json {
  const prompt = tokens(JSON.stringify(body["messages"]));
  const completion = tokens(answer.text ?? "");
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
