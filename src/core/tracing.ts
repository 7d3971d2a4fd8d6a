import { createHash } from "node:crypto";

/** A part of the way of a message that has taken place. Attributes are names and numbers: no text, no address. */
export type SpanTold = {
  readonly name: "message" | "fetch" | "wait" | "turn" | "model" | "tool" | "deliver";
  /** Of the message that its intent has begun with. */
  readonly intent: number;
  /** Epoch ms. */
  readonly from: number;
  readonly until: number;
  readonly attributes?: Readonly<Record<string, string | number>>;
  /** An error's code, where it has failed. */
  readonly failed?: string;
};

/** Where the way of messages is told. Nothing throws, and nothing is waited for. */
export type Tracer = {
  span(told: SpanTold): void;
};

/**
 * By which a message is found in logs and traces: 32 hex digits. Drawn from the number of its intent, so that every
 * process knows it and nothing has to be handed on.
 */
export function traceOf(intent: number): string {
  return digest(`perch message ${intent}`).slice(0, 32);
}

/** The span that all others of a message lie in: 16 hex digits. */
export function rootSpanOf(intent: number): string {
  return digest(`perch span ${intent}`).slice(0, 16);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
