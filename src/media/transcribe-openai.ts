import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import type { Transcriber } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import { BYTES_A_SECOND, WAV_HEADER_BYTES, wavHeader } from "./pcm.ts";
import type { Asked, Recording } from "./recording.ts";

/** What one request may hold: 25 MB (OpenAI's audio guide), and 1,400 s (its newer models refuse more). */
export const OPENAI_AT_ONCE = { bytes: 25_000_000, seconds: 1_390, pieceSeconds: 600 } as const;

const ANSWER_BYTES = 4_000_000;

/** A file as it is uploaded. Servers look at its name: the same bytes are refused as .oga or .opus and taken as .ogg. */
export type Part = {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: number;
  readonly read: () => AsyncIterable<Uint8Array>;
};

// OpenAI's audio guide: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav and webm.
const DOCUMENTED = new Map([
  ["audio/ogg", "ogg"],
  ["audio/mpeg", "mp3"],
  ["audio/mp4", "m4a"],
  ["audio/webm", "webm"],
  ["audio/wav", "wav"],
  ["audio/flac", "flac"],
]);

/** The files to upload for a recording: as it came where that is taken, else our WAV, in pieces where it is long. */
export function partsFor({ original, wav, seconds }: Recording): readonly Part[] {
  const ending = original && DOCUMENTED.get(original.mimeType);
  const fits = (original?.bytes ?? 0) <= OPENAI_AT_ONCE.bytes && (seconds ?? 0) <= OPENAI_AT_ONCE.seconds;
  if (original && ending !== undefined && fits) {
    const { path, mimeType, bytes } = original;
    return [{ name: `sound.${ending}`, mimeType, bytes, read: () => createReadStream(path) }];
  }
  if (!wav) return [];
  const data = wav.bytes - WAV_HEADER_BYTES;
  const whole = wav.bytes <= OPENAI_AT_ONCE.bytes;
  const pieceBytes = whole ? data : OPENAI_AT_ONCE.pieceSeconds * BYTES_A_SECOND;
  const parts: Part[] = [];
  for (let from = 0; from < data; from += pieceBytes)
    parts.push(wavPiece(wav.path, from, Math.min(pieceBytes, data - from)));
  return parts;
}

function wavPiece(path: string, from: number, bytes: number): Part {
  const start = WAV_HEADER_BYTES + from;
  return {
    name: "sound.wav",
    mimeType: "audio/wav",
    bytes: WAV_HEADER_BYTES + bytes,
    async *read() {
      yield wavHeader(bytes);
      yield* createReadStream(path, { start, end: start + bytes - 1 });
    },
  };
}

/** Uploads one file. Not with `fetch`, which gives up after five minutes without a word. Never rejects. */
export async function askOpenAi(
  transcriber: Transcriber & { readonly use: "openai" },
  part: Part,
  clock: Clock,
  stop: AbortSignal,
): Promise<Asked> {
  const { model, language, apiKey } = transcriber;
  const boundary = `perch-${randomUUID()}`;
  const fields = { model, response_format: "json", ...(language === undefined ? {} : { language }) };
  const before = Buffer.from(
    [
      ...Object.entries(fields).map(
        ([name, value]) =>
          `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      ),
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${part.name}"\r\n`,
      `content-type: ${part.mimeType}\r\n\r\n`,
    ].join(""),
  );
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* body(): AsyncIterable<Uint8Array> {
    yield before;
    yield* part.read();
    yield after;
  }
  try {
    const answer = await post(
      new URL(`${transcriber.baseUrl.replace(/\/+$/, "")}/audio/transcriptions`),
      {
        "content-type": `multipart/form-data; boundary=${boundary}`,
        "content-length": String(before.length + part.bytes + after.length),
        accept: "application/json",
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body(),
      stop,
    );
    return await read(answer, clock);
  } catch (error) {
    return { failed: `no answer (${codeOf(error)})`, again: {} };
  }
}

function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? tlsRequest : plainRequest)(url, {
      method: "POST",
      headers,
      signal,
    });
    request.on("response", resolve);
    request.on("error", reject);
    pipeline(body, request).catch(reject);
  });
}

async function read(answer: IncomingMessage, clock: Clock): Promise<Asked> {
  const status = answer.statusCode ?? 0;
  const text = await textOf(answer);
  if (status !== 200) {
    const failed = `the server answered ${status}`;
    if (status !== 429 && status < 500) return { failed };
    const afterMs = retryAfterMs(answer.headers["retry-after"], clock);
    return { failed, again: afterMs === undefined ? {} : { afterMs } };
  }
  const said = transcriptIn(text);
  return said === undefined ? { failed: "the answer is not a transcript", again: {} } : { said };
}

/** As much as a transcript may be long; what goes on beyond it is none. */
async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length; // no encoding is set
    if (bytes > ANSWER_BYTES) break;
    chunks.push(chunk as Buffer);
  }
  return bytes > ANSWER_BYTES ? "" : Buffer.concat(chunks).toString("utf8");
}

function transcriptIn(json: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(json);
    if (typeof parsed !== "object" || parsed === null || !("text" in parsed)) return undefined;
    return typeof parsed.text === "string" ? parsed.text : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function retryAfterMs(header: string | undefined, clock: Clock): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - clock.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "fault";
}
