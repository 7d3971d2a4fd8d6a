import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
} from "@opentelemetry/sdk-trace-base";
import { rootSpanOf, traceOf, type Tracer } from "../core/tracing.ts";

export type Traces = {
  readonly tracer: Tracer;
  /** Sends what is left, and no more after that. Never rejects. */
  close(): Promise<void>;
};

/** Sends spans to an OpenTelemetry collector: `url` is its address for traces, such as "http://127.0.0.1:4318/v1/traces". */
export function traces(url: string): Traces {
  const ids = new Ids();
  const provider = new BasicTracerProvider({
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url, timeoutMillis: 2_000 }))],
  });
  const tracer = provider.getTracer("perch");
  return {
    tracer: {
      span({ name, intent, from, until, attributes, failed }) {
        const root = name === "message";
        if (root) ids.next = { trace: traceOf(intent), span: rootSpanOf(intent) };
        const span = tracer.startSpan(
          name,
          { startTime: from, kind: SpanKind.INTERNAL, attributes: { "perch.intent": intent, ...attributes } },
          root ? ROOT_CONTEXT : within(intent),
        );
        ids.next = undefined;
        if (failed !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failed });
        span.end(until);
      },
    },
    close: () => provider.shutdown().catch(() => {}),
  };
}

/** Below the span of the message, which another process may tell of, or nobody yet. */
function within(intent: number): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: traceOf(intent),
    spanId: rootSpanOf(intent),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  });
}

/** A message's own span is known by everybody; all others are drawn. */
class Ids implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  /** For the span that is begun next. */
  next: { readonly trace: string; readonly span: string } | undefined;

  generateTraceId(): string {
    return this.next?.trace ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.next?.span ?? this.#random.generateSpanId();
  }
}
