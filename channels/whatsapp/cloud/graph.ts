import type { Readable } from "node:stream";
import type { Clock } from "../../../src/core/clock.ts";
import { asError } from "../../../src/core/errors.ts";
import type { CloudSettings } from "../settings.ts";
import { type Failure, refusalIn } from "./failures.ts";
import { type Line, LineError, readText } from "./line.ts";

/** How long Meta may take over one call; a large upload has longer. */
const CALL_MS = 30_000;
const ANSWER_BYTES = 1024 * 1024;

/** A call of the Graph API that gave no result. Holds no address, no cause and nothing that was sent. */
export class GraphError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.why);
    this.name = "GraphError";
    this.failure = failure;
  }
}

export type GraphCall = {
  readonly method: "GET" | "POST";
  /** Behind the version: "<phone number id>/messages". */
  readonly path: string;
  readonly json?: unknown;
  readonly form?: { readonly headers: Readonly<Record<string, string>>; readonly body: Readable };
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
};

/** The Graph API as one connection uses it. The token goes in a header, so that no address holds it. */
export type Graph = {
  /** @throws GraphError. */
  call(call: GraphCall): Promise<Readonly<Record<string, unknown>>>;
};

/** `heard` is told how each call ended: undefined where it gave a result. */
export function graphOf(parts: {
  readonly settings: CloudSettings;
  readonly line: Line;
  readonly clock: Clock;
  readonly heard: (failure: Failure | undefined, call: GraphCall) => void;
}): Graph {
  const { settings, line, clock, heard } = parts;
  const root = `${settings.graphRoot.replace(/\/+$/, "")}/${settings.graphVersion}/`;
  const authorization = `Bearer ${settings.token}`;

  async function answered(call: GraphCall, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const { method, path, json, form } = call;
    const { status, headers, body } = await line.open(root + path, {
      method,
      headers: {
        authorization,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...form?.headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(form === undefined ? {} : { body: form.body }),
      signal,
    });
    const text = await readText(body, ANSWER_BYTES);
    const said = parsed(text);
    if (status >= 200 && status < 300 && said !== undefined && !("error" in said)) return said;
    const retryAfter = headers["retry-after"];
    throw new GraphError(refusalIn(status, said, typeof retryAfter === "string" ? retryAfter : undefined));
  }

  return {
    async call(call) {
      const ending = new AbortController();
      const abort = (): void => ending.abort();
      const timer = clock.after(call.deadlineMs ?? CALL_MS, abort);
      call.signal?.addEventListener("abort", abort, { once: true });
      if (call.signal?.aborted) abort();
      try {
        const said = await answered(call, ending.signal);
        heard(undefined, call);
        return said;
      } catch (thrown) {
        const { failure } = asGraphError(thrown);
        heard(failure, call);
        throw new GraphError(failure);
      } finally {
        timer.cancel();
        call.signal?.removeEventListener("abort", abort);
      }
    },
  };
}

export function asGraphError(thrown: unknown): GraphError {
  if (thrown instanceof GraphError) return thrown;
  if (thrown instanceof LineError)
    return new GraphError({ kind: thrown.written ? "unknown" : "not written", why: thrown.message });
  return new GraphError({ kind: "unknown", why: `the call to Meta ended with ${asError(thrown).name}` });
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Of an object each property can be asked for, and is unknown.
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
