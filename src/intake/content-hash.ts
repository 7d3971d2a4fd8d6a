import { createHash } from "node:crypto";
import type { MessageEvent } from "../core/events.ts";

/**
 * Of what a person sees of a message: its words and its files. References to files are left out, for platforms give the
 * same file out under another one.
 */
export function contentHash(content: MessageEvent["content"]): string {
  const seen = content.map((part) =>
    part.type === "text" ? part.text : { kind: part.kind, declared: part.declared },
  );
  return createHash("sha256").update(JSON.stringify(seen)).digest("base64url");
}
