import { createHash, timingSafeEqual } from "node:crypto";
import type { Update } from "grammy/types";
import { shortBody } from "../../src/core/short-body.ts";

// telegram-bot-api drops updates of more than 512 KiB; escaped, they may be longer.
const MOST_BYTES = 1024 * 1024;

/** The update that a request brings, or the status that it is turned away with. */
export async function updateIn(request: Request, secret: string): Promise<Update | number> {
  if (request.method !== "POST") return 405;
  if (!isSame(request.headers.get("x-telegram-bot-api-secret-token") ?? "", secret)) return 401;
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) return 415;
  const body = await shortBody(request, MOST_BYTES);
  return body === undefined ? 413 : (parsed(body.toString("utf8")) ?? 400);
}

/** Compares digests, so that neither content nor length shows in the time it takes. */
function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(digest(given), digest(secret));
}

function digest(words: string): Buffer {
  return createHash("sha256").update(words).digest();
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
