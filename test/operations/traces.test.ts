import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { rootSpanOf, traceOf } from "../../src/core/tracing.ts";
import { traces } from "../../src/operations/traces.ts";

type Sent = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number; readonly message?: string };
};

const ending: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

/** A collector that keeps what it is sent. */
async function collector(): Promise<{ readonly url: string; readonly spans: Sent[] }> {
  const spans: Sent[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const { resourceSpans } = JSON.parse(body) as {
        resourceSpans: { scopeSpans: { spans: Sent[] }[] }[];
      };
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ending.push(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo; // TCP servers have no other address
  return { url: `http://127.0.0.1:${port}/v1/traces`, spans };
}

describe("traces", () => {
  it("put all that is told of a message below its own span, whoever tells it and in whatever order", async () => {
    const { url, spans } = await collector();
    const [worker, channels] = [traces(url), traces(url)];
    channels.tracer.span({ name: "deliver", intent: 7, from: 5_000, until: 5_200 });
    worker.tracer.span({ name: "turn", intent: 7, from: 1_000, until: 4_000, failed: "turn.timed_out" });
    worker.tracer.span({ name: "message", intent: 7, from: 500, until: 5_000 });
    worker.tracer.span({ name: "turn", intent: 8, from: 1_000, until: 2_000 });
    await Promise.all([worker.close(), channels.close()]);
    const of = (name: string): readonly Sent[] => spans.filter((span) => span.name === name);
    const [root] = of("message");
    expect(root).toMatchObject({ traceId: traceOf(7), spanId: rootSpanOf(7) });
    expect(root?.parentSpanId ?? "").toBe("");
    const below = [...of("turn"), ...of("deliver")].filter(({ traceId }) => traceId === traceOf(7));
    expect(below.map(({ parentSpanId }) => parentSpanId)).toEqual([rootSpanOf(7), rootSpanOf(7)]);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
    expect(below[0]).toMatchObject({
      startTimeUnixNano: "1000000000",
      endTimeUnixNano: "4000000000",
      status: { code: 2, message: "turn.timed_out" },
    });
  });

  it("keep nobody waiting whose collector is not there", async () => {
    const { tracer, close } = traces("http://127.0.0.1:9/v1/traces");
    tracer.span({ name: "turn", intent: 1, from: 0, until: 1 });
    await expect(close()).resolves.toBeUndefined();
  });
});
