import { listOf, type Json, type Refusal } from "./server.ts";

/** What OpenAI's chat completions refuse of a request, in its words. */
export function openAiRefusal(body: Json): Refusal | undefined {
  const messages = listOf(body["messages"]);
  for (const [at, message] of messages.entries()) {
    const refused = refusedIn(message, `messages[${at}]`) ?? refusedCalls(messages, at);
    if (refused !== undefined) return { status: 400, message: refused };
  }
  return undefined;
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,([A-Za-z0-9+/]+={0,2})$/;
export const OPENAI_IMAGES = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

/** The type of a data URL; undefined where it is none. */
export function typeOfDataUrl(url: unknown): string | undefined {
  return DATA_URL.exec(String(url))?.[1];
}

function refusedIn({ role, content }: Json, where: string): string | undefined {
  if (role !== "user" && role !== "assistant" && role !== "system" && role !== "tool") {
    return `Invalid value: '${String(role)}' (${where}.role).`;
  }
  for (const [at, part] of listOf(content).entries()) {
    const refused = refusedPart(part, `${where}.content[${at}]`);
    if (refused !== undefined) return refused;
    if (part["type"] !== "text" && role !== "user") {
      return `Invalid 'messages'. Image URLs are only allowed for messages with role 'user' (${where}.content[${at}]).`;
    }
  }
  return undefined;
}

function refusedPart(part: Json, where: string): string | undefined {
  switch (part["type"]) {
    case "text":
      return typeof part["text"] === "string" ? undefined : `Missing required parameter: '${where}.text'.`;
    case "image_url": {
      const type = typeOfDataUrl((part["image_url"] as Json | undefined)?.["url"]); // an object, or none
      if (type !== undefined && OPENAI_IMAGES.has(type)) return undefined;
      return `Invalid MIME type. Only image types are supported (${where}.image_url.url).`;
    }
    case "input_audio": {
      const { format, data } = (part["input_audio"] ?? {}) as Json; // an object, or none
      if (typeof data !== "string" || data === "")
        return `Missing required parameter: '${where}.input_audio.data'.`;
      if (format === "wav" || format === "mp3") return undefined;
      return `Invalid value: '${String(format)}'. Supported values are: 'wav' and 'mp3' (${where}.input_audio.format).`;
    }
    case "file": {
      const { filename, file_data: data } = (part["file"] ?? {}) as Json; // an object, or none
      if (typeof filename !== "string") return `Missing required parameter: '${where}.file.filename'.`;
      if (typeOfDataUrl(data) === "application/pdf") return undefined;
      return `Invalid file data: expected a PDF (${where}.file.file_data).`;
    }
    default:
      return `Invalid value: '${String(part["type"])}'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file' (${where}).`;
  }
}

/** Every call has its result behind it, and every result its call before it. */
function refusedCalls(messages: readonly Json[], at: number): string | undefined {
  const message = messages[at];
  if (message?.["role"] === "tool") {
    const caller = messages.slice(0, at).findLast(({ role }) => role !== "tool");
    const called = listOf(caller?.["tool_calls"]).some(({ id }) => id === message["tool_call_id"]);
    return called
      ? undefined
      : "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
  }
  for (const [call, { function: called }] of listOf(message?.["tool_calls"]).entries()) {
    const refused = refusedFunction((called ?? {}) as Json, `messages[${at}].tool_calls[${call}].function`);
    if (refused !== undefined) return refused;
  }
  const ids = listOf(message?.["tool_calls"]).map(({ id }) => id);
  const results = new Set(messages.slice(at + 1, at + 1 + ids.length).map(({ tool_call_id: id }) => id));
  return ids.every((id) => results.has(id))
    ? undefined
    : "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
}

/** The templates of compatible servers want an object where OpenAI takes any string. */
function refusedFunction({ name, arguments: args }: Json, where: string): string | undefined {
  if (!/^[\w-]{1,64}$/.test(String(name)))
    return `Invalid '${where}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
  try {
    const read: unknown = JSON.parse(String(args));
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return undefined;
  } catch {
    // Said below.
  }
  return `Invalid '${where}.arguments': expected a JSON object.`;
}
