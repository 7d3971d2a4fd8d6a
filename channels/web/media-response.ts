import { inline } from "./shown.ts";

export type Served = {
  readonly mimeType: string;
  readonly bytes: number;
  readonly name: string;
};

type Span = { readonly from: number; readonly to: number };

/**
 * Bytes that somebody else made, answered so that they run nothing: a picture, sound or film is shown in place, all
 * else is a download of no particular type. A range is honoured, for players that seek (and Safari, which insists).
 * @throws what `open` throws before it gives its first bytes.
 */
export async function mediaResponse(
  request: Request,
  media: Served,
  open: () => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>,
): Promise<Response> {
  const span = spanOf(request.headers.get("range"), media.bytes);
  const headers = {
    "content-type": inline(media.mimeType) ? media.mimeType : "application/octet-stream",
    "content-disposition": `${inline(media.mimeType) ? "inline" : "attachment"}; filename*=UTF-8''${encoded(media.name)}`,
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, max-age=31536000, immutable",
    "accept-ranges": "bytes",
  };
  if (span === "outside")
    return new Response(null, {
      status: 416,
      headers: { ...headers, "content-range": `bytes */${media.bytes}` },
    });
  const { from, to } = span ?? { from: 0, to: media.bytes - 1 };
  const answer = {
    status: span ? 206 : 200,
    headers: {
      ...headers,
      "content-length": String(to - from + 1),
      ...(span ? { "content-range": `bytes ${from}-${to}/${media.bytes}` } : {}),
    },
  };
  // Nobody would read the body to its end, and the file would stay open.
  if (request.method === "HEAD") return new Response(null, answer);
  const chunks = cut(await open(), from, to);
  const first = await chunks.next();
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (first.done) controller.close();
        else controller.enqueue(first.value);
      },
      async pull(controller) {
        const next = await chunks.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, answer);
}

async function* cut(
  source: AsyncIterable<Uint8Array>,
  from: number,
  to: number,
): AsyncGenerator<Uint8Array, void> {
  let at = 0;
  for await (const chunk of source) {
    const start = Math.max(from - at, 0);
    const end = Math.min(to + 1 - at, chunk.length);
    if (end > start) yield chunk.subarray(start, end);
    at += chunk.length;
    if (at > to) return;
  }
}

/** One range of bytes; several at once, or what cannot be read, means the whole (RFC 9110 §14.2). */
function spanOf(range: string | null, bytes: number): Span | "outside" | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return undefined;
  const from = first === "" ? Math.max(bytes - Number(last), 0) : Number(first);
  const to = first === "" || last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1);
  return from > to ? "outside" : { from, to };
}

/** RFC 8187: what encodeURIComponent leaves and a header value may not hold. */
function encoded(name: string): string {
  return encodeURIComponent(name.replaceAll(/\p{Cs}/gu, "")).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
