import { renderSVG } from "uqr";
import type { PairingStep, PairingWish } from "../core/channel.ts";
import type { ConnectionShown } from "../core/standing.ts";
import type { HttpHandler } from "../core/host.ts";
import type { ChannelId } from "../core/identity.ts";
import { shortBody } from "../core/short-body.ts";

/** A step as it is streamed, one JSON object a line; a QR code also as a picture. */
export type PairingStepShown = PairingStep & { readonly svg?: string };

export type ConnectionsSource = {
  list(): readonly ConnectionShown[];
  /** Undefined where there is nothing to link. */
  pair(id: ChannelId, wish: PairingWish, signal: AbortSignal): AsyncIterable<PairingStep> | undefined;
};

const BODY_BYTES = 400;

/**
 * What is mounted at /connections: GET lists them, POST with `{"connection": "…", "phone": "+…"}` links one and streams
 * the steps. What is streamed is a secret: it stands behind the password and the guards against other sites, as all pages.
 */
export function connectionsHandler(source: ConnectionsSource): HttpHandler {
  return async (request) => {
    if (new URL(request.url).pathname !== "/connections") return sentence(404, "Nothing is here.");
    if (request.method === "GET") return json({ connections: source.list() });
    if (request.method !== "POST") return sentence(405, "Only GET and POST are answered here.");
    const asked = wishIn(await shortBody(request, BODY_BYTES));
    if (!asked)
      return sentence(
        400,
        'Say which: {"connection": "whatsapp"}, and for a code {"phone": "+15551234567"}.',
      );
    const ended = new AbortController();
    const steps = source.pair(asked.connection, asked.wish, ended.signal);
    if (!steps) return sentence(404, `There is no connection ${asked.connection} that is linked by a code.`);
    return new Response(streamed(steps, ended), {
      headers: {
        "content-type": "application/x-ndjson",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      },
    });
  };
}

function wishIn(
  body: Buffer | undefined,
): { readonly connection: string; readonly wish: PairingWish } | undefined {
  if (!body) return undefined;
  try {
    const said = JSON.parse(body.toString("utf8")) as {
      readonly connection?: unknown;
      readonly phone?: unknown;
    } | null;
    if (typeof said?.connection !== "string") return undefined;
    if (said.phone === undefined) return { connection: said.connection, wish: {} };
    if (typeof said.phone !== "string" || !/^\+[1-9]\d{6,14}$/.test(said.phone)) return undefined;
    return { connection: said.connection, wish: { phone: said.phone } };
  } catch {
    return undefined;
  }
}

/** Whoever closes the page does not link any more. */
function streamed(steps: AsyncIterable<PairingStep>, ended: AbortController): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const going = steps[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await going.next();
      if (done) return controller.close();
      controller.enqueue(encoder.encode(`${JSON.stringify(shown(value))}\n`));
    },
    cancel: () => ended.abort(),
  });
}

function shown(step: PairingStep): PairingStepShown {
  return step.kind === "qr" ? { ...step, svg: renderSVG(step.text, { border: 2 }) } : step;
}

function json(value: unknown): Response {
  return Response.json(value, { headers: { "cache-control": "no-store" } });
}

function sentence(status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}
