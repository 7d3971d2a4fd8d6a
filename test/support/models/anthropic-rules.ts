import { listOf, type Json, type Refusal } from "./server.ts";

/** What Anthropic's messages refuse of a request, in its words. */
export function anthropicRefusal(body: Json): Refusal | undefined {
  const messages = listOf(body["messages"]);
  const uses = messages.flatMap(({ content }) => listOf(content).filter(({ type }) => type === "tool_use"));
  if (new Set(uses.map(({ id }) => id)).size < uses.length)
    return { status: 400, message: "messages: `tool_use` ids must be unique" };
  const marks = [...listOf(body["system"]), ...messages.flatMap(({ content }) => listOf(content))];
  if (marks.filter((block) => block["cache_control"] !== undefined).length > 4)
    return { status: 400, message: "A maximum of 4 blocks with cache_control may be provided." };
  for (const [at, message] of messages.entries()) {
    const refused = refusedIn(message, `messages.${at}`) ?? refusedUses(messages, at);
    if (refused !== undefined) return { status: 400, message: refused };
  }
  return undefined;
}

const IMAGES = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);
const IMAGE_BASE64 = 5_242_880;

function refusedIn({ role, content }: Json, where: string): string | undefined {
  if (role !== "user" && role !== "assistant") return `${where}.role: Input should be 'user' or 'assistant'`;
  if (typeof content === "string") {
    return content.trim() === ""
      ? `${where}: text content blocks must contain non-whitespace text`
      : undefined;
  }
  for (const [at, block] of listOf(content).entries()) {
    const refused = refusedBlock(block, `${where}.content.${at}`);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function refusedBlock(block: Json, where: string): string | undefined {
  const type = String(block["type"]);
  const source = (block["source"] ?? {}) as Json; // an object, or none
  switch (type) {
    case "text":
      return String(block["text"]).trim() === ""
        ? `${where}.text: text content blocks must contain non-whitespace text`
        : undefined;
    case "image": {
      const place = `${where}.image.source.base64`;
      if (!IMAGES.has(String(source["media_type"]))) {
        return `${place}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`;
      }
      const { length } = String(source["data"]);
      return length > IMAGE_BASE64
        ? `${place}: image exceeds 5 MB maximum: ${length} bytes > ${IMAGE_BASE64} bytes`
        : undefined;
    }
    case "document":
      return source["media_type"] === "application/pdf"
        ? undefined
        : `${where}.document.source.base64.media_type: Input should be 'application/pdf'`;
    case "tool_result":
      return typeof block["content"] === "string"
        ? undefined
        : listOf(block["content"])
            .map((part, at) => refusedBlock(part, `${where}.tool_result.content.${at}`))
            .find((each) => each !== undefined);
    case "tool_use": {
      const { id, name, input } = block;
      if (!/^[\w-]+$/.test(String(id)))
        return `${where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
      if (!/^[\w-]{1,128}$/.test(String(name)))
        return `${where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
      return typeof input === "object" && input !== null && !Array.isArray(input)
        ? undefined
        : `${where}.tool_use.input: Input should be a valid dictionary`;
    }
    case "thinking":
    case "redacted_thinking":
      return undefined;
    default:
      return `${where}: Input tag '${type}' found using 'type' does not match any of the expected tags`;
  }
}

function refusedUses(messages: readonly Json[], at: number): string | undefined {
  const ids = (message: Json | undefined, type: string, key: string): readonly unknown[] =>
    listOf(message?.["content"])
      .filter((block) => block["type"] === type)
      .map((block) => block[key]);
  const uses = ids(messages[at], "tool_use", "id");
  if (new Set(uses).size < uses.length) return `messages.${at}: \`tool_use\` ids must be unique`;
  const results = ids(messages[at + 1], "tool_result", "tool_use_id");
  if (!uses.every((id) => results.includes(id))) {
    return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`;
  }
  const before = ids(messages[at - 1], "tool_use", "id");
  return ids(messages[at], "tool_result", "tool_use_id").every((id) => before.includes(id))
    ? undefined
    : `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks`;
}
