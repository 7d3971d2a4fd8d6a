import { OPENAI_IMAGES, typeOfDataUrl } from "./openai-rules.ts";
import {
  listOf,
  sse,
  startModelServer,
  tokens,
  type Answer,
  type Json,
  type ModelServer,
  type ModelServerOptions,
  type Protocol,
  type Refusal,
} from "./server.ts";

/** OpenAI's Responses API: POST /v1/responses, whole or streamed. */
export function startResponses(options: ModelServerOptions = {}): Promise<ModelServer> {
  return startModelServer(RESPONSES, options);
}

const RESPONSES: Protocol = {
  basePath: "/v1",
  serves: (path) => path === "/v1/responses",

  lastUserText(body) {
    const asked = listOf(body["input"]).findLast(({ role }) => role === "user")?.["content"];
    if (typeof asked === "string") return asked;
    return listOf(asked)
      .filter(({ type }) => type === "input_text")
      .map(({ text }) => String(text))
      .join("\n");
  },

  refusal,

  error: (status, message) => ({
    error: { message, type: "invalid_request_error", code: status === 401 ? "invalid_api_key" : null },
  }),

  whole: (request, answer, number) => completed(request.body, answer, number),

  stream(request, answer, number) {
    const item = `msg_${number}`;
    const at = { item_id: item, output_index: thoughts(answer, number).length, content_index: 0 };
    const message = { type: "message", id: item, role: "assistant", status: "in_progress", content: [] };
    return {
      open: [
        event("response.created", {
          response: { ...head(request.body, number), status: "in_progress", output: [] },
        }),
        ...thoughts(answer, number).flatMap((thought) => [
          event("response.output_item.added", { output_index: 0, item: { ...thought, summary: [] } }),
          event("response.reasoning_summary_text.delta", {
            item_id: thought["id"],
            output_index: 0,
            summary_index: 0,
            delta: answer.reasoning,
          }),
          event("response.output_item.done", { output_index: 0, item: thought }),
        ]),
        event("response.output_item.added", { output_index: at.output_index, item: message }),
        event("response.content_part.added", {
          ...at,
          part: { type: "output_text", text: "", annotations: [] },
        }),
      ].join(""),
      word: (word) => event("response.output_text.delta", { ...at, delta: word }),
      end: [
        event("response.output_text.done", { ...at, text: answer.text ?? "" }),
        ...calls(answer, number).flatMap((call, index) => [
          event("response.output_item.added", {
            output_index: at.output_index + index + 1,
            item: { ...call, arguments: "" },
          }),
          event("response.function_call_arguments.delta", {
            item_id: call["id"],
            output_index: at.output_index + index + 1,
            delta: call["arguments"],
          }),
          event("response.output_item.done", { output_index: at.output_index + index + 1, item: call }),
        ]),
        event(answer.finish === undefined ? "response.completed" : "response.incomplete", {
          response: completed(request.body, answer, number),
        }),
      ].join(""),
    };
  },
};

function refusal(body: Json): Refusal | undefined {
  const lost = lostCall(listOf(body["input"]));
  if (lost !== undefined) return { status: 400, message: lost };
  for (const [at, item] of listOf(body["input"]).entries()) {
    for (const [index, part] of listOf(item["content"]).entries()) {
      const message = refusedPart(part, item["role"], `input[${at}].content[${index}]`);
      if (message !== undefined) return { status: 400, message };
    }
  }
  return undefined;
}

function lostCall(items: readonly Json[]): string | undefined {
  const ids = (type: string): readonly string[] =>
    items.filter((item) => item["type"] === type).map((item) => item["call_id"] as string); // as the API has it
  const [made, outputs] = [ids("function_call"), ids("function_call_output")];
  const silent = made.find((id) => !outputs.includes(id));
  if (silent !== undefined) return `No tool output found for function call ${silent}.`;
  const orphan = outputs.find((id) => !made.includes(id));
  return orphan === undefined
    ? undefined
    : `No tool call found for function call output with call_id ${orphan}.`;
}

function refusedPart(part: Json, role: unknown, where: string): string | undefined {
  switch (part["type"]) {
    case "input_text":
      return undefined;
    case "output_text":
      return role === "assistant" ? undefined : `Invalid value: 'output_text' (${where}).`;
    case "input_image": {
      const type = typeOfDataUrl(part["image_url"]);
      return type !== undefined && OPENAI_IMAGES.has(type)
        ? undefined
        : `Invalid '${where}.image_url'. Expected a base64-encoded data URL with an image MIME type.`;
    }
    case "input_file":
      if (typeof part["filename"] !== "string") return `Missing required parameter: '${where}.filename'.`;
      return typeOfDataUrl(part["file_data"]) === "application/pdf"
        ? undefined
        : `Invalid input: expected a PDF ('${where}.file_data').`;
    default:
      return `Invalid value: '${String(part["type"])}'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal' and 'input_file' (${where}).`;
  }
}

function completed(body: Json, answer: Answer, number: number): Json {
  return {
    ...head(body, number),
    ...(answer.finish === undefined
      ? { status: "completed" }
      : { status: "incomplete", incomplete_details: { reason: answer.finish } }),
    output: [
      ...thoughts(answer, number),
      ...(answer.text === undefined
        ? []
        : [
            {
              type: "message",
              id: `msg_${number}`,
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: answer.text, annotations: [] }],
            },
          ]),
      ...calls(answer, number),
    ],
    usage: usage(body, answer),
  };
}

function head(body: Json, number: number): Json {
  return {
    id: `resp_${number}`,
    object: "response",
    created_at: 1_700_000_000,
    model: body["model"],
    error: null,
    incomplete_details: null,
    metadata: {},
  };
}

function thoughts({ reasoning }: Answer, number: number): readonly Json[] {
  if (reasoning === undefined) return [];
  return [{ type: "reasoning", id: `rs_${number}`, summary: [{ type: "summary_text", text: reasoning }] }];
}

function calls(answer: Answer, number: number): readonly Json[] {
  return (answer.toolCalls ?? []).map((call, index) => ({
    type: "function_call",
    id: `fc_${number}_${index}`,
    call_id: call.id ?? `call_${number}_${index}`,
    name: call.name,
    arguments: JSON.stringify(call.args),
    status: "completed",
  }));
}

function usage(body: Json, answer: Answer): Json {
  const input = tokens(JSON.stringify(body["input"]));
  const output = tokens(answer.text ?? "");
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

function event(type: string, fields: Json): string {
  return sse({ type, ...fields }, type);
}
