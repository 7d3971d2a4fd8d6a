/** A file that came with a request. */
export type Upload = { readonly fileName: string; readonly bytes: Buffer };

export type FormParts = {
  readonly fields: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, Upload>;
};

const CRLF = Buffer.from("\r\n");
const BLANK_LINE = Buffer.from("\r\n\r\n");

/**
 * Reads multipart/form-data as Telegram's server does. grammY writes file names without quotes, which the usual
 * parsers lose; the server cuts such a name at ";" and decodes %XX in it.
 * @throws Error when the body is not a complete form.
 */
export function parseMultipart(body: Buffer, boundary: string): FormParts {
  const fields: Record<string, string> = {};
  const files = new Map<string, Upload>();
  const delimiter = Buffer.from(`--${boundary}`);
  let at = body.indexOf(delimiter);
  while (at >= 0) {
    const start = at + delimiter.length;
    if (body.subarray(start, start + 2).toString() === "--") return { fields, files };
    const next = body.indexOf(Buffer.concat([CRLF, delimiter]), start);
    if (next < 0) break;
    readPart(body.subarray(start + CRLF.length, next), fields, files);
    at = next + CRLF.length;
  }
  throw new Error("multipart body without its closing boundary");
}

export function boundaryOf(contentType: string): string | undefined {
  const match = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  return match?.[1] ?? match?.[2];
}

function readPart(part: Buffer, fields: Record<string, string>, files: Map<string, Upload>): void {
  const split = part.indexOf(BLANK_LINE);
  if (split < 0) throw new Error("multipart part without a blank line after its headers");
  const disposition = part
    .subarray(0, split)
    .toString()
    .split("\r\n")
    .find((line) => /^content-disposition\s*:/i.test(line));
  const name = attribute(disposition ?? "", "name");
  if (name === undefined) throw new Error("multipart part without a name");
  const value = part.subarray(split + BLANK_LINE.length);
  const fileName = attribute(disposition ?? "", "filename");
  if (fileName === undefined) fields[name] = value.toString();
  else files.set(name, { fileName, bytes: Buffer.from(value) });
}

function attribute(header: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^;]*))`, "i").exec(header);
  return match?.[1] ?? (match?.[2] === undefined ? undefined : decoded(match[2].trim()));
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // a lone % stands for itself
  }
}
