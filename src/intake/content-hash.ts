import { createHash } from "node:crypto";
import type { InboundEvent, MessageEvent } from "../core/events.ts";

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

/**
 * Of an event as it was handed over, by which a repeat is known. Left out is what may differ between two times that it is
 * handed over: whom an item of an album is meant for, by which ids people are known, and how a file is referred to.
 */
export function payloadHash(event: InboundEvent): string {
  if (event.type === "message" && event.unique) return "unique";
  const told = event.type === "message" ? { ...event, addressed: undefined } : event;
  return createHash("sha256").update(JSON.stringify(told, lasting)).digest("hex");
}

function lasting(key: string, value: unknown): unknown {
  if (key === "also") return undefined;
  const isFile = typeof value === "object" && value !== null && "type" in value && value.type === "unfetched";
  return isFile ? { ...value, ref: undefined } : value;
}
