import type { Json } from "./server.ts";

/** What a request holds of its last user turn, whatever the provider's shape. */
export type Asked = {
  /** The provider's own words for its parts, in order. */
  readonly types: readonly string[];
  readonly texts: readonly string[];
  readonly images: readonly Sent[];
  /** Documents and sound. */
  readonly files: readonly Sent[];
};

/** Bytes as a provider was sent them: what they were declared to be, and their length as base64. */
export type Sent = { readonly mimeType: string; readonly bytes: Buffer; readonly base64Length: number };

/** Reads the last user turn out of a request to OpenAI's chat completions or Responses, or to Anthropic. */
export function lastTurn(body: Json): Asked {
  const content = messagesOf(body).findLast(({ role }) => role === "user")?.["content"];
  const parts: readonly Json[] =
    typeof content === "string" ? [{ type: "text", text: content }] : (content as readonly Json[]); // a string or a list
  const [texts, images, files]: [string[], Sent[], Sent[]] = [[], [], []];
  for (const part of parts) {
    switch (part["type"]) {
      case "text":
      case "input_text":
        texts.push(String(part["text"]));
        break;
      case "image_url":
        images.push(fromDataUrl((part["image_url"] as Json)["url"]));
        break;
      case "input_image":
        images.push(fromDataUrl(part["image_url"]));
        break;
      case "image":
        images.push(fromSource(part["source"] as Json));
        break;
      case "file":
        files.push(fromDataUrl((part["file"] as Json)["file_data"]));
        break;
      case "input_audio": {
        const { format, data } = part["input_audio"] as Json;
        files.push(fromBase64(`audio/${String(format)}`, data));
        break;
      }
      case "document":
        files.push(fromSource(part["source"] as Json));
        break;
      default:
        throw new Error(`a part of an unknown type ${String(part["type"])}`);
    }
  }
  return { types: parts.map(({ type }) => String(type)), texts, images, files };
}

/** The text of the instructions that stand before the conversation. */
export function instructions(body: Json): string {
  const system = messagesOf(body).find(({ role }) => role === "system" || role === "developer");
  return JSON.stringify(body["system"] ?? body["instructions"] ?? system?.["content"] ?? "");
}

function messagesOf(body: Json): readonly Json[] {
  return (body["messages"] ?? body["input"]) as readonly Json[]; // the protocols send them so
}

function fromDataUrl(url: unknown): Sent {
  const [, mimeType = "", data = ""] = /^data:([^;,]*);base64,(.*)$/s.exec(String(url)) ?? [];
  return fromBase64(mimeType, data);
}

function fromSource({ media_type: mimeType, data }: Json): Sent {
  return fromBase64(String(mimeType), data);
}

function fromBase64(mimeType: string, data: unknown): Sent {
  const base64 = String(data);
  return { mimeType, bytes: Buffer.from(base64, "base64"), base64Length: base64.length };
}
