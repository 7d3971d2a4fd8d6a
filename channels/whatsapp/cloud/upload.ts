import { Readable } from "node:stream";
import type { MediaItem } from "../../../src/core/channel.ts";
import type { ChannelHost } from "../../../src/core/host.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { CloudSettings } from "../settings.ts";
import type { Forms } from "./forms.ts";
import type { Graph } from "./graph.ts";
import { uploadType } from "./media-types.ts";

/** Cloud API: an upload can be sent for 30 days. */
const KEPT_MS = 29 * 24 * 3_600_000;
/** Bytes a second that a line is taken to have at least, and what comes on top of that. */
const SLOWEST = 100_000;
const UPLOAD_MS = 60_000;

export type UploadParts = {
  readonly graph: Graph;
  readonly settings: Pick<CloudSettings, "phoneNumberId">;
  readonly host: Pick<ChannelHost, "blobs" | "state" | "clock">;
};

/** `wasKnown` says that an earlier upload of the same file is used again, which Meta may have forgotten. */
export type Uploaded = { readonly id: string; readonly wasKnown: boolean; forget(): Promise<void> };

/**
 * Hands a file to Meta, once for as long as it is kept there.
 * @throws GraphError; GatewayError "send.refused" for a type that is not taken and for a blob that cannot be read.
 */
export async function upload(
  { as, media }: MediaItem,
  forms: Forms,
  { graph, settings, host }: UploadParts,
  signal: AbortSignal,
): Promise<Uploaded> {
  const type = uploadType(media.mimeType, forms.has("document") ? "file" : as);
  const entry = `upload/${media.blob}/${type}`;
  const forget = (): Promise<void> => host.state.set({ [entry]: undefined });
  const known = (await host.state.get([entry])).get(entry);
  if (known !== undefined) return { id: known, wasKnown: true, forget };
  const { headers, body } = formOf(type, media.bytes, host.blobs.open(media.blob));
  let unread: unknown;
  body.once("error", (error) => (unread = error));
  const call = {
    method: "POST",
    path: `${settings.phoneNumberId}/media`,
    form: { headers, body },
    deadlineMs: UPLOAD_MS + (media.bytes / SLOWEST) * 1_000,
    signal,
  } as const;
  const { id } = await graph.call(call).catch((thrown: unknown) => {
    throw unread instanceof GatewayError
      ? new GatewayError("send.refused", `nothing was sent: ${unread.message}`)
      : thrown;
  });
  if (typeof id !== "string")
    throw new GatewayError(
      "send.not_written",
      "Meta took a file and gave no id for it; it is uploaded again",
    );
  await host.state.set({ [entry]: id }, { until: host.clock.now() + KEPT_MS });
  return { id, wasKnown: false, forget };
}

/** multipart/form-data with a length, so that nothing of it is held in memory. The file's name is told with the message. */
function formOf(
  type: string,
  bytes: number,
  file: AsyncIterable<Uint8Array>,
): { readonly headers: Readonly<Record<string, string>>; readonly body: Readable } {
  // Random enough not to be in a file: the form is as long as it says, and read by its boundary.
  const boundary = `perch-${crypto.randomUUID()}`;
  const field = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const head = Buffer.from(
    `${field("messaging_product", "whatsapp")}${field("type", type)}--${boundary}\r\n` +
      `content-disposition: form-data; name="file"; filename="file"\r\ncontent-type: ${type}\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    headers: {
      "content-type": `multipart/form-data; boundary=${boundary}`,
      "content-length": String(head.length + bytes + tail.length),
    },
    body: Readable.from(parts(head, file, bytes, tail), { objectMode: false }),
  };
}

async function* parts(
  head: Uint8Array,
  file: AsyncIterable<Uint8Array>,
  bytes: number,
  tail: Uint8Array,
): AsyncGenerator<Uint8Array> {
  yield head;
  let seen = 0;
  for await (const chunk of file) {
    seen += chunk.length;
    yield chunk;
  }
  if (seen !== bytes)
    throw new GatewayError("blob.missing", `a file has ${seen} bytes and was announced with ${bytes}`);
  yield tail;
}
