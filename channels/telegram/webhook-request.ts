import { createHash, timingSafeEqual } from "node:crypto";
import type { Update } from "grammy/types";

// telegram-bot-api drops updates of more than 512 KiB; escaped, they may be longer.
const MOST_BYTES = 1024 * 1024;

/** The update that a request brings, or the status that it is turned away with. */
export async function updateIn(request: Request, secret: string): Promise<Update | number> {
  if (request.method !== "POST") return 405;
  if (!isSame(request.headers.get("x-telegram-bot-api-secret-token") ?? "", secret)) return 401;
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) return 415;
  const text = await shortText(request);
  return text === undefined ? 413 : (parsed(text) ?? 400);
}

/** Compares digests, so that neither content nor length shows in the time it takes. */
function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(digest(given), digest(secret));
}

function digest(words: string): Buffer {
  return createHash("sha256").update(words).digest();
}

/** Undefined where there is more than an update can have. */
async function shortText(request: Request): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): Update | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const isUpdate =
    typeof value === "object" && value !== null && "update_id" in value && Number.isInteger(value.update_id);
  return isUpdate ? (value as Update) : undefined; // from Telegram, which knows the secret; what it holds is read with care
}
