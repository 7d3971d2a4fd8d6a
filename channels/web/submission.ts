import { safeName } from "../../src/core/names.ts";
import { type Submission, type UploadedFile, safeMimeType } from "./inbound.ts";
import { MultipartFault, boundaryOf, readMultipart } from "./multipart.ts";
import type { Upload, Uploads } from "./uploads.ts";

/** One sentence for the person, and the HTTP status it goes with. */
export class Refusal extends Error {
  readonly status: number;
  constructor(status: number, sentence: string) {
    super(sentence);
    this.status = status;
  }
}

/** A submission whose files lie under temporary names until `keep`. Whoever does not keep it discards it. */
export type Received = {
  readonly submission: Submission;
  readonly keep: () => Promise<void>;
  readonly discard: () => Promise<void>;
};

const FIELDS: ReadonlySet<string> = new Set(["id", "text", "voiceSeconds"]);
const FILES = 10;
const FILE_MB = 50;
const MB = 1024 * 1024;
const TEXT_LENGTH = 100_000;
// The longest text in UTF-8 and the form around it.
const BODY_BYTES = FILES * FILE_MB * MB + 4 * TEXT_LENGTH + 64 * 1024;

export const MESSAGE_ID = /^[\w-]{8,64}$/;

/**
 * Reads a message's form: `id`, `text`, any number of `file`, and `voice` for recordings, each after a `voiceSeconds`.
 * Files go to disk as they come.
 * @throws Refusal; nothing of the form is left then.
 */
export async function receive(request: Request, chat: string, uploads: Uploads): Promise<Received> {
  const boundary = boundaryOf(request.headers.get("content-type"));
  if (boundary === undefined || !request.body)
    throw new Refusal(415, "A message is sent as multipart/form-data with the fields id, text and file.");
  const fields = new Map<string, string>();
  const received: { readonly file: Omit<UploadedFile, "ref">; readonly upload: Upload }[] = [];
  const discard = async (): Promise<void> => {
    for (const { upload } of received) await upload.discard();
  };
  // The rest is read to its end before the answer: a browser that is cut off while it sends shows no answer at all.
  let refusal: Refusal | undefined;
  try {
    for await (const part of readMultipart(bounded(request.body), boundary)) {
      if (refusal) continue;
      if (part.name !== "file" && part.name !== "voice") {
        // What nobody asks for is read past: a form of a million names would be held in memory.
        if (!FIELDS.has(part.name)) continue;
        const value = await text(part.body);
        if (value === undefined) refusal = tooLong();
        else fields.set(part.name, value);
        continue;
      }
      // A form's file field that was left empty.
      if (part.filename === "") continue;
      const name = safeName(part.filename) ?? `file ${received.length + 1}`;
      if (received.length === FILES) {
        refusal = new Refusal(
          413,
          `A message takes at most ${FILES} files; send the others in the next one.`,
        );
        continue;
      }
      const upload = await uploads.write(part.body, FILE_MB * MB);
      if (!upload) {
        refusal = new Refusal(
          413,
          `“${name}” is larger than ${FILE_MB} MB, the most for one file; send a smaller one.`,
        );
        continue;
      }
      const seconds = part.name === "voice" ? Number(fields.get("voiceSeconds")) : Number.NaN;
      received.push({
        upload,
        file: {
          name,
          mimeType: safeMimeType(part.mimeType),
          bytes: upload.bytes,
          sha256: upload.sha256,
          voice: part.name === "voice",
          ...(seconds > 0 && seconds < 86_400 ? { durationSeconds: Math.round(seconds * 10) / 10 } : {}),
        },
      });
    }
    if (refusal) throw refusal;
    const id = fields.get("id") ?? "";
    const submission = {
      chat,
      id,
      text: fields.get("text")?.replaceAll("\r\n", "\n") ?? "",
      files: received.map(({ file }, n) => ({ ref: `${chat}.${id}.${n}`, ...file })),
    };
    check(submission);
    return {
      submission,
      discard,
      keep: async () => {
        for (const [n, { upload }] of received.entries()) await upload.keep(`${chat}.${id}.${n}`);
      },
    };
  } catch (error) {
    await discard();
    // Nobody is there to read it; it keeps a lost connection from looking like a fault of ours.
    if (request.signal.aborted)
      throw new Refusal(400, "The connection ended before the message was complete.");
    if (error instanceof MultipartFault)
      throw new Refusal(400, `The message was not read: ${error.message}.`);
    throw error;
  }
}

function check({ id, text: said, files }: Submission): void {
  if (!MESSAGE_ID.test(id))
    throw new Refusal(
      400,
      "A message needs an id of 8 to 64 letters, digits, “-” or “_”, new for each message.",
    );
  if (said.length > TEXT_LENGTH) throw tooLong();
  if (said.trim() === "" && files.length === 0)
    throw new Refusal(400, "The message is empty; write something or attach a file.");
}

function tooLong(): Refusal {
  return new Refusal(
    413,
    `The text is longer than ${TEXT_LENGTH.toLocaleString("en")} characters; send it as a file, or in parts.`,
  );
}

async function text(body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes <= 4 * TEXT_LENGTH) chunks.push(chunk);
  }
  return bytes <= 4 * TEXT_LENGTH ? Buffer.concat(chunks).toString("utf8") : undefined;
}

async function* bounded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES)
      throw new Refusal(
        413,
        `A message takes at most ${FILES} files of ${FILE_MB} MB; send the others in the next one.`,
      );
    yield chunk;
  }
}
