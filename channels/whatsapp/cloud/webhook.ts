import type { ChannelHost } from "../../../src/core/host.ts";
import { asError } from "../../../src/core/errors.ts";
import { shortBody } from "../../../src/core/short-body.ts";
import type { CloudSettings } from "../settings.ts";
import { type Change, changesFor } from "./payload.ts";
import { isSame, isSigned, looksSigned } from "./signature.ts";

// Cloud API, webhooks: payloads have up to 3 MB.
const MOST_BYTES = 3 * 1024 * 1024;
/** Meta sends digits; whatever else asks with the right token is given no more back than that. */
const CHALLENGE = /^[\w.-]{1,200}$/;

/** Where Meta hands over what people write, behind the address at which the server is reached from outside. */
export function webhookPath(channel: string): string {
  return `/whatsapp/${channel}`;
}

export type WebhookParts = {
  readonly settings: CloudSettings;
  readonly host: Pick<ChannelHost, "id" | "http" | "log">;
  /** Commits, and gives whether it did; a throw has Meta come again as well. */
  readonly take: (changes: readonly Change[]) => Promise<boolean>;
};

export type Webhook = {
  /** Takes nothing in any more; resolves when what was handed over is committed or given back to Meta. */
  close(): Promise<void>;
};

/** @throws GatewayError "config.invalid" where another channel has the path. */
export function hearWebhook({ settings, host, take }: WebhookParts): Webhook {
  let closing = false;
  /** Committed one after another: a second try of one that takes long must not pass others of its chat. */
  let last: Promise<unknown> = Promise.resolve();

  // Whoever knows the secret is let in; Meta has no password and calls the server by its public name.
  const unmount = host.http.mount(webhookPath(host.id), answer, { ownDoor: true });

  async function answer(request: Request): Promise<Response> {
    if (closing) return nothing(503);
    if (request.method === "GET") return handshake(new URL(request.url).searchParams, settings.verifyToken);
    if (request.method !== "POST") return nothing(405);
    // Who hangs up in the middle of it hears no answer.
    const changes = await changesIn(request, settings).catch(() => 400);
    if (typeof changes === "number") return nothing(changes);
    if (closing) return nothing(503);
    if (changes.length === 0) return nothing(200);
    const taken = last.then(() => take(changes));
    last = taken.catch(() => {});
    try {
      return nothing((await taken) ? 200 : 503);
    } catch (thrown) {
      host.log.error({ err: asError(thrown) }, "a message could not be stored; Meta hands it over again");
      return nothing(503);
    }
  }

  return {
    async close() {
      closing = true;
      unmount();
      await last;
    },
  };
}

/** What a request brings for our number, or the status that it is turned away with. */
async function changesIn(
  request: Request,
  { appSecret, phoneNumberId }: CloudSettings,
): Promise<readonly Change[] | number> {
  const signature = request.headers.get("x-hub-signature-256") ?? "";
  if (!looksSigned(signature)) return 401;
  const body = await shortBody(request, MOST_BYTES);
  if (body === undefined) return 413;
  if (!isSigned(body, signature, appSecret)) return 401;
  return changesFor(parsed(body), phoneNumberId) ?? 400;
}

/** How Meta finds out that the address is ours, when the operator enters it. */
function handshake(asked: URLSearchParams, verifyToken: string): Response {
  const challenge = asked.get("hub.challenge") ?? "";
  const isOurs = isSame(asked.get("hub.verify_token") ?? "", verifyToken);
  if (!isOurs || asked.get("hub.mode") !== "subscribe" || !CHALLENGE.test(challenge)) return nothing(403);
  return new Response(challenge, { status: 200, headers: { "content-type": "text/plain" } });
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

function nothing(status: number): Response {
  return new Response(null, { status });
}
