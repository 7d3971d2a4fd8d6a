import {
  listOf,
  startModelServer,
  textOf,
  tokens,
  type Answer,
  type Json,
  type ModelServer,
  type ModelServerOptions,
  type Protocol,
  type Refusal,
} from "./server.ts";

/** An Ollama server: POST /api/chat, its answer as lines of JSON. */
export function startOllama(options: ModelServerOptions = {}): Promise<ModelServer> {
  return startModelServer(OLLAMA, options);
}

const OLLAMA: Protocol = {
  basePath: "",
  serves: (path) => path === "/api/chat",
  // It streams unless it is told not to.
  streams: ({ body }) => body["stream"] !== false,
  streamType: "application/x-ndjson",

  lastUserText(body) {
    const asked = listOf(body["messages"]).findLast(({ role, content }) => role === "user" && content !== "");
    return textOf(asked?.["content"]);
  },

  refusal,

  error: (_status, message) => ({ error: message }),

  whole: (request, answer) => ({
    ...last(request.body, answer),
    message: { role: "assistant", content: answer.text ?? "", ...thoughts(answer), ...toolCalls(answer) },
  }),

  stream: (request, answer) => ({
    open:
      answer.reasoning === undefined
        ? ""
        : line({
            ...head(request.body),
            message: { role: "assistant", content: "", ...thoughts(answer) },
            done: false,
          }),
    word: (word) =>
      line({ ...head(request.body), message: { role: "assistant", content: word }, done: false }),
    end:
      (answer.toolCalls
        ? line({
            ...head(request.body),
            message: { role: "assistant", content: "", ...toolCalls(answer) },
            done: false,
          })
        : "") + line({ ...last(request.body, answer), message: { role: "assistant", content: "" } }),
  }),
};

const ROLES = new Set(["system", "user", "assistant", "tool"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

function refusal(body: Json): Refusal | undefined {
  for (const { role, content, images } of listOf(body["messages"])) {
    if (!ROLES.has(String(role))) return { status: 400, message: `invalid role: ${String(role)}` };
    if (typeof content !== "string") {
      return {
        status: 400,
        message: "json: cannot unmarshal array into Go struct field .content of type string",
      };
    }
    for (const image of Array.isArray(images) ? images : []) {
      if (!BASE64.test(String(image))) return { status: 400, message: "illegal base64 data at input byte 0" };
    }
  }
  return undefined;
}

function head(body: Json): Json {
  return { model: body["model"], created_at: "2026-03-01T12:00:00Z" };
}

function last(body: Json, answer: Answer): Json {
  return {
    ...head(body),
    done: true,
    done_reason: answer.finish ?? "stop",
    prompt_eval_count: tokens(JSON.stringify(body["messages"])),
    eval_count: tokens(answer.text ?? ""),
  };
}

function thoughts({ reasoning }: Answer): Json {
  return reasoning === undefined ? {} : { thinking: reasoning };
}

function toolCalls(answer: Answer): Json {
  if (!answer.toolCalls) return {};
  return { tool_calls: answer.toolCalls.map(({ name, args }) => ({ function: { name, arguments: args } })) };
}

function line(value: Json): string {
  return `${JSON.stringify(value)}\n`;
}
