import type { Attempt, Piece, PlatformId } from "../../../src/core/channel.ts";
import type { ChannelHost } from "../../../src/core/host.ts";
import { asError, GatewayError } from "../../../src/core/errors.ts";
import { formsOf, stepDown } from "../../../src/core/forms.ts";
import type { CloudSettings } from "../settings.ts";
import { inSigns } from "../signs.ts";
import { messageTo, mediaContent, simplerForms, textContent } from "./compose.ts";
import type { Form, Forms } from "./forms.ts";
import { asGraphError, type Graph, GraphError } from "./graph.ts";
import { ownEntry, REMEMBERED_MS } from "./memory.ts";
import { sendError, uploadError } from "./refusals.ts";
import { upload } from "./upload.ts";
import type { Windows } from "./window.ts";

export type SendParts = {
  readonly graph: Graph;
  readonly settings: Pick<CloudSettings, "phoneNumberId">;
  readonly host: Pick<ChannelHost, "blobs" | "state" | "clock" | "log">;
  readonly windows: Windows;
};

/** @throws GatewayError "send.*" where the outcome is known; an Error without a code where it is not. */
export async function send(
  piece: Piece,
  attempt: Attempt,
  parts: SendParts,
  signal: AbortSignal,
): Promise<readonly PlatformId[]> {
  const forms = formsOf<Form>(attempt);
  if (piece.replaces !== undefined && !forms.has("new"))
    throw new GatewayError(
      "send.refused",
      "WhatsApp has no edits for businesses; it goes as a message of its own",
      { stepDown: stepDown(forms, "new") ?? "new" },
    );
  if (await parts.windows.isClosed(piece.to.chat))
    throw new GatewayError(
      "send.chat_closed",
      "the person has not written for 24 hours, and WhatsApp takes nothing for them until they do",
    );
  const { id, text } = await sent(piece, attempt, forms, parts, signal);
  await remembered(id, text, parts);
  return [id];
}

type Sent = { readonly id: PlatformId; readonly text: string };

async function sent(
  piece: Piece,
  attempt: Attempt,
  forms: Forms,
  parts: SendParts,
  signal: AbortSignal,
): Promise<Sent> {
  const { body } = piece;
  const by = { number: attempt.number, forms, simpler: simplerForms(piece) };
  if (body.kind === "album")
    throw new GatewayError(
      "send.refused",
      "WhatsApp has no albums for businesses; send its files one by one",
    );
  if (body.kind === "text") {
    const message = messageTo(piece, textContent(body, forms), forms);
    const id = await posted(message, parts, signal).catch((thrown: unknown) => {
      throw sendError(asGraphError(thrown).failure, by);
    });
    return { id, text: inSigns(body.rendered) };
  }
  const file = await upload(body, forms, parts, signal).catch((thrown: unknown) => {
    throw thrown instanceof GraphError ? uploadError(thrown.failure, by) : thrown;
  });
  const { id: media, wasKnown } = file;
  const content = mediaContent(body, { id: media, filename: body.media.type, forms });
  try {
    const id = await posted(messageTo(piece, content, forms), parts, signal);
    return { id, text: body.caption ? inSigns(body.caption) : `[${body.media.filename ?? body.as}]` };
  } catch (thrown) {
    const { failure } = asGraphError(thrown);
    const isMedia = failure.kind === "refused" && (failure.sort === "message" || failure.sort === "media");
    if (!wasKnown || !isMedia) throw sendError(failure, by);
    // Perhaps Meta has forgotten the earlier upload.
    await file.forget();
    throw new GatewayError("send.not_written", `${failure.why}; the file is uploaded anew`);
  }
}

/** @throws GraphError. */
async function posted(
  json: object,
  { graph, settings }: SendParts,
  signal: AbortSignal,
): Promise<PlatformId> {
  const said = await graph.call({ method: "POST", path: `${settings.phoneNumberId}/messages`, json, signal });
  const [first] = Array.isArray(said["messages"]) ? (said["messages"] as readonly unknown[]) : [];
  const id = typeof first === "object" && first !== null && "id" in first ? first.id : undefined;
  if (typeof id === "string") return id;
  throw new GraphError({ kind: "unknown", why: "Meta took a message and gave no id for it" });
}

/** So that it can be quoted. It was sent, whatever becomes of that. */
async function remembered(id: PlatformId, text: string, { host }: SendParts): Promise<void> {
  try {
    await host.state.set(ownEntry(id, text), { until: host.clock.now() + REMEMBERED_MS });
  } catch (thrown) {
    host.log.warn({ err: asError(thrown) }, "a message that was sent cannot be quoted with its words");
  }
}
