import { anthropicRefusal } from "./anthropic-rules.ts";
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

/** An Anthropic server: POST /v1/messages, whole or streamed. */
export function startAnthropic(options: ModelServerOptions = {}): Promise<ModelServer> {
  return startModelServer(ANTHROPIC, options);
}

const ERRORS = new Map([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
]);

const ANTHROPIC: Protocol = {
  basePath: "",
  serves: (path) => path === "/v1/messages",

  lastUserText(body) {
    const asked = listOf(body["messages"]).findLast((message) => message["role"] === "user");
    return textOf(asked?.["content"]);
  },

  refusal: anthropicRefusal,

  error: (status, message) => ({
    type: "error",
    error: { type: ERRORS.get(status) ?? "api_error", message },
  }),

  whole: (request, answer, number) => ({
    ...head(request.body, number),
    content: [
      ...thoughts(answer),
      ...(answer.text === undefined ? [] : [{ type: "text", text: answer.text }]),
      ...toolUses(answer, number),
    ],
    stop_reason: stopReason(answer),
    usage: usage(request.body, answer),
  }),

  stream(request, answer, number) {
    const uses = toolUses(answer, number);
    const [thought] = thoughts(answer);
    const text = thought ? 1 : 0;
    return {
      open: [
        event("message_start", {
          message: {
            ...head(request.body, number),
            content: [],
            stop_reason: null,
            usage: { ...usage(request.body, answer), output_tokens: 0 },
          },
        }),
        ...(thought
          ? [
              event("content_block_start", {
                index: 0,
                content_block: { type: "thinking", thinking: "", signature: "" },
              }),
              event("content_block_delta", {
                index: 0,
                delta: { type: "thinking_delta", thinking: thought["thinking"] },
              }),
              event("content_block_delta", {
                index: 0,
                delta: { type: "signature_delta", signature: thought["signature"] },
              }),
              event("content_block_stop", { index: 0 }),
            ]
          : []),
        event("content_block_start", { index: text, content_block: { type: "text", text: "" } }),
      ].join(""),
      word: (word) =>
        event("content_block_delta", { index: text, delta: { type: "text_delta", text: word } }),
      end: [
        event("content_block_stop", { index: text }),
        ...uses.flatMap((use, at) => [
          event("content_block_start", { index: text + at + 1, content_block: { ...use, input: {} } }),
          event("content_block_delta", {
            index: text + at + 1,
            delta: { type: "input_json_delta", partial_json: JSON.stringify(use["input"]) },
          }),
          event("content_block_stop", { index: text + at + 1 }),
        ]),
        event("message_delta", {
          delta: { stop_reason: stopReason(answer), stop_sequence: null },
          usage: { output_tokens: tokens(answer.text ?? "") },
        }),
        event("message_stop", {}),
      ].join(""),
    };
  },
};

function event(type: string, fields: Json): string {
  return sse({ type, ...fields }, type);
}

function head(body: Json, number: number): Json {
  return {
    id: `msg_${number}`,
    type: "message",
    role: "assistant",
    model: body["model"],
    stop_sequence: null,
  };
}

function stopReason(answer: Answer): string {
  return answer.finish ?? (answer.toolCalls ? "tool_use" : "end_turn");
}

function thoughts({ reasoning }: Answer): readonly Json[] {
  return reasoning === undefined ? [] : [{ type: "thinking", thinking: reasoning, signature: "signed" }];
}

function toolUses(answer: Answer, number: number): readonly Json[] {
  return (answer.toolCalls ?? []).map((call, index) => ({
    type: "tool_use",
    id: call.id ?? `toolu_${number}_${index}`,
    name: call.name,
    input: call.args,
  }));
}

function usage(body: Json, answer: Answer): Json {
  return {
    input_tokens: tokens(JSON.stringify(body["messages"])),
    output_tokens: tokens(answer.text ?? ""),
  };
}
