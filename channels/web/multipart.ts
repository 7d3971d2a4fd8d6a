/** One part of a multipart/form-data body. `body` must be read before the next part is asked for; the rest is skipped. */
export type Part = {
  readonly name: string;
  readonly filename?: string;
  readonly mimeType: string;
  readonly body: AsyncIterable<Uint8Array>;
};

export class MultipartFault extends Error {}

const HEADER_BYTES = 8192;
const LINE_END = Buffer.from("\r\n");
const HEADERS_END = Buffer.from("\r\n\r\n");

/** The boundary that a Content-Type header names, if it is one of multipart/form-data. */
export function boundaryOf(contentType: string | null): string | undefined {
  const [, quoted, plain] =
    /^multipart\/form-data\s*;.*?\bboundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))/i.exec(
      contentType ?? "",
    ) ?? [];
  return quoted ?? plain;
}

/**
 * Reads a multipart/form-data body part by part, holding no more than a chunk at a time (RFC 7578).
 * @throws MultipartFault when it is malformed, or ends before its closing boundary: what was cut off is never whole.
 */
export async function* readMultipart(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<Part> {
  const chunks = source[Symbol.asyncIterator]();
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first boundary has no line before it; with one it is like all others.
  let held: Buffer = LINE_END;

  async function more(): Promise<void> {
    const next = await chunks.next();
    if (next.done) throw new MultipartFault("the upload ended before it was complete");
    held = Buffer.concat([held, next.value]);
  }

  async function until(mark: Buffer): Promise<Buffer> {
    for (;;) {
      const at = held.indexOf(mark);
      if (at > HEADER_BYTES || (at < 0 && held.length > HEADER_BYTES + mark.length))
        throw new MultipartFault(`a part's headers are longer than ${HEADER_BYTES} bytes`);
      if (at >= 0) {
        const before = held.subarray(0, at);
        held = held.subarray(at + mark.length);
        return before;
      }
      await more();
    }
  }

  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const at = held.indexOf(delimiter);
      if (at >= 0) {
        const last = held.subarray(0, at);
        held = held.subarray(at + delimiter.length);
        if (last.length > 0) yield last;
        return;
      }
      // The boundary may have begun at the end of what is here.
      const sure = held.length - delimiter.length + 1;
      if (sure > 0) {
        const ready = held.subarray(0, sure);
        held = held.subarray(sure);
        yield ready;
      }
      await more();
    }
  }

  try {
    if ((await until(delimiter)).length > 0)
      throw new MultipartFault("something stands before the first part");
    for (;;) {
      while (held.length < 2) await more();
      if (held.subarray(0, 2).toString("latin1") === "--") return;
      await until(LINE_END);
      // A part without headers would begin with the blank line itself, and cannot have a name.
      const head = parseHeaders((await until(HEADERS_END)).toString("utf8"));
      const body = bytes();
      yield { ...head, body: { [Symbol.asyncIterator]: () => ({ next: () => body.next() }) } };
      while (!(await body.next()).done);
    }
  } finally {
    await chunks.return?.();
  }
}

function parseHeaders(text: string): Omit<Part, "body"> {
  const headers = new Map(
    text.split("\r\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const disposition = headers.get("content-disposition") ?? "";
  const name = parameter(disposition, "name");
  if (!/^form-data\b/i.test(disposition) || name === undefined)
    throw new MultipartFault("a part of the form has no name");
  const filename = parameter(disposition, "filename");
  return {
    name,
    mimeType: headers.get("content-type") ?? "",
    ...(filename === undefined ? {} : { filename }),
  };
}

/** Browsers write a quote as %22 and line ends as %0D and %0A (HTML: multipart/form-data); other programs use a backslash. */
function parameter(disposition: string, name: string): string | undefined {
  const [, value] = new RegExp(`;\\s*${name}="((?:[^"\\\\]|\\\\.)*)"`, "i").exec(disposition) ?? [];
  return value
    ?.replaceAll(/\\(["\\])/g, "$1")
    .replaceAll(/%22/g, '"')
    .replaceAll(/%0D|%0A/gi, " ");
}
