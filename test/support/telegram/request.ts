import type { IncomingMessage } from "node:http";
import { boundaryOf, parseMultipart, type Upload } from "./multipart.ts";
import { badRequest } from "./refusal.ts";

export type Parameters = Readonly<Record<string, unknown>>;

/** One call of a method, as every transport brings it. */
export type Call = {
  /** 1 for the first call of this emulator. */
  readonly number: number;
  /** As the docs write it, whatever case the client used. */
  readonly method: string;
  /** Objects are parsed, also where the client sent them as JSON strings. */
  readonly parameters: Parameters;
  readonly uploads: ReadonlyMap<string, Upload>;
  /** Epoch ms of the emulator's clock. */
  readonly at: number;
};

const JSON_PARAMETERS = new Set([
  "allowed_updates",
  "caption_entities",
  "commands",
  "entities",
  "link_preview_options",
  "media",
  "correct_option_ids",
  "message_ids",
  "options",
  "reaction",
  "reply_markup",
  "reply_parameters",
  "result",
  "rich_message",
  "scope",
]);

/** Resolves when the request is here in full. @throws Error when the client hangs up before. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer); // no encoding is set, so chunks are buffers
  return Buffer.concat(chunks);
}

/** Merges query, form and JSON parameters. @throws Refusal on a body that cannot be read. */
export function readParameters(
  query: URLSearchParams,
  contentType: string,
  body: Buffer,
): Pick<Call, "parameters" | "uploads"> {
  const { fields, uploads } = readForm(contentType, body);
  const merged = Object.entries({ ...Object.fromEntries(query), ...fields });
  const parameters = Object.fromEntries(merged.map(([name, value]) => [name, parsed(name, value)]));
  return { parameters, uploads };
}

function readForm(
  contentType: string,
  body: Buffer,
): { fields: Record<string, unknown>; uploads: ReadonlyMap<string, Upload> } {
  const none = new Map<string, Upload>();
  if (body.length === 0) return { fields: {}, uploads: none };
  if (/^application\/json/i.test(contentType)) return { fields: jsonObject(body.toString()), uploads: none };
  if (/^application\/x-www-form-urlencoded/i.test(contentType)) {
    return { fields: Object.fromEntries(new URLSearchParams(body.toString())), uploads: none };
  }
  const boundary = boundaryOf(contentType);
  if (!/^multipart\/form-data/i.test(contentType) || boundary === undefined) {
    throw badRequest("unsupported content-type");
  }
  try {
    const { fields, files } = parseMultipart(body, boundary);
    return { fields, uploads: files };
  } catch (error) {
    throw badRequest(`can't parse multipart form: ${String(error)}`);
  }
}

function jsonObject(body: string): Record<string, unknown> {
  const value = parsedJson(body);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest("can't parse JSON object");
  }
  return value as Record<string, unknown>; // an object that came out of JSON.parse
}

function parsed(name: string, value: unknown): unknown {
  if (typeof value !== "string" || !JSON_PARAMETERS.has(name) || !/^\s*[{["]/.test(value)) return value;
  const inner = parsedJson(value);
  if (inner === undefined) throw badRequest(`can't parse ${name} JSON object`);
  return inner;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A string parameter; anything else is none. */
export function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** "true", "1" and the like count too: forms know only strings. */
export function flag(value: unknown): boolean {
  return ["true", "yes", "1"].includes(String(value).toLowerCase());
}

/** An integer, or undefined where there is none. */
export function integer(value: unknown): number | undefined {
  const number =
    typeof value === "number" ? value : /^\s*-?\d+\s*$/.test(String(value)) ? Number(value) : NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}
