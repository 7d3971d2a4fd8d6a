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

/** A Gemini server: POST /v1beta/models/…:generateContent and :streamGenerateContent. */
export function startGoogle(options: ModelServerOptions = {}): Promise<ModelServer> {
  return startModelServer(GOOGLE, options);
}

const PATH = /^\/v1beta\/models\/[^/:]+:(generateContent|streamGenerateContent\?alt=sse)$/;

const GOOGLE: Protocol = {
  basePath: "",
  serves: (path) => PATH.test(path),
  streams: ({ path }) => path.includes(":stream"),

  lastUserText(body) {
    const asked = listOf(body["contents"]).findLast(
      ({ role, parts }) => role === "user" && listOf(parts).some((part) => typeof part["text"] === "string"),
    );
    return listOf(asked?.["parts"])
      .flatMap(({ text }) => (typeof text === "string" ? [text] : []))
      .join("\n");
  },

  refusal,

  error: (status, message) => ({
    error: { code: status, message, status: status === 400 ? "INVALID_ARGUMENT" : "INTERNAL" },
  }),

  whole: (request, answer) => ({
    ...chunk(
      [...thoughts(answer), ...(answer.text === undefined ? [] : [{ text: answer.text }]), ...calls(answer)],
      answer.finish ?? "STOP",
    ),
    usageMetadata: usage(request.body, answer),
  }),

  stream: (request, answer) => ({
    open: answer.reasoning === undefined ? "" : sse(chunk(thoughts(answer))),
    word: (word) => sse(chunk([{ text: word }])),
    end: sse({
      ...chunk(calls(answer), answer.finish ?? "STOP"),
      usageMetadata: usage(request.body, answer),
    }),
  }),
};

// Gemini API, "Image, document and audio understanding": no GIF.
const TYPES = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/heic",
  "image/heif",
  "application/pdf",
  "text/plain",
  "audio/wav",
  "audio/mp3",
  "audio/aiff",
  "audio/aac",
  "audio/ogg",
  "audio/flac",
]);

function refusal(body: Json): Refusal | undefined {
  for (const [at, { role, parts }] of listOf(body["contents"]).entries()) {
    const message = refusedIn(role, listOf(parts), `contents[${at}]`);
    if (message !== undefined) return { status: 400, message };
  }
  return evenCalls(listOf(body["contents"]))
    ? undefined
    : {
        status: 400,
        message:
          "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      };
}

function evenCalls(contents: readonly Json[]): boolean {
  const count = (content: Json | undefined, key: string): number =>
    listOf(content?.["parts"]).filter((part) => key in part).length;
  let open = 0;
  for (const content of contents) {
    const answers = count(content, "functionResponse");
    if (open > 0 ? answers === 0 || answers > open : answers > 0) return false;
    open += count(content, "functionCall") - answers;
  }
  return open === 0;
}

function refusedIn(role: unknown, parts: readonly Json[], where: string): string | undefined {
  if (role !== "user" && role !== "model") return `Please use a valid role: user, model (${where}).`;
  if (parts.length === 0) return `${where}.parts must not be empty.`;
  for (const [at, part] of parts.entries()) {
    const place = `${where}.parts[${at}]`;
    const inline = part["inlineData"] as Json | undefined; // an object, or none
    if (inline !== undefined && !TYPES.has(String(inline["mimeType"]))) {
      return `Unsupported MIME type: ${String(inline["mimeType"])} (${place}).`;
    }
    if (part["text"] === "")
      return `Unable to submit request because it must have a text parameter (${place}).`;
    if (!["text", "inlineData", "functionCall", "functionResponse"].some((key) => key in part)) {
      return `${place}.data: required oneof field 'data' must have one initialized field`;
    }
  }
  return undefined;
}

function chunk(parts: readonly Json[], finishReason?: string): Json {
  // What was blocked has no content at all.
  const blocked = parts.length === 0 && finishReason !== "STOP" && finishReason !== "MAX_TOKENS";
  const content = blocked ? {} : { content: { role: "model", parts } };
  return { candidates: [{ index: 0, ...content, ...(finishReason && { finishReason }) }] };
}

function thoughts({ reasoning }: Answer): readonly Json[] {
  return reasoning === undefined ? [] : [{ text: reasoning, thought: true }];
}

function calls(answer: Answer): readonly Json[] {
  return (answer.toolCalls ?? []).map(({ name, args, id }) => ({
    functionCall: { name, args, ...(id && { id }) },
  }));
}

function usage(body: Json, answer: Answer): Json {
  const promptTokenCount = tokens(JSON.stringify(body["contents"]));
  const candidatesTokenCount = tokens(answer.text ?? "");
  // Gemini API, "Thinking": no candidate holds the thoughts, and the price of output is that of both.
  const thoughtsTokenCount = tokens(answer.reasoning ?? "");
  return {
    promptTokenCount,
    candidatesTokenCount,
    ...(thoughtsTokenCount === 0 ? {} : { thoughtsTokenCount }),
    totalTokenCount: promptTokenCount + candidatesTokenCount + thoughtsTokenCount,
  };
}
