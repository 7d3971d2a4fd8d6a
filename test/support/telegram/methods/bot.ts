import type { Account } from "../account.ts";
import { commits, type Methods } from "../method.ts";
import { badRequest, tooMany } from "../refusal.ts";
import { flag, integer, string, type Parameters } from "../request.ts";

const LAUNCH_MS = 600_000; // Bot API close: not in the first 10 minutes
const AWAY_MS = 600_000; // Bot API logOut: no way back to the cloud server for 10 minutes
const WEBHOOK_PORTS = new Set(["", "443", "80", "88", "8443"]);

/** What concerns the bot itself, its updates and its files. getUpdates is not here: it waits. */
export const botMethods: Methods = {
  getMe: (account) => ({ result: account.me }),

  setWebhook(account, call) {
    const url = string(call.parameters["url"]);
    if (url !== "") checkWebhook(account, url, call.parameters);
    return commits(() => {
      changeQueue(account, call.parameters);
      if (url !== "") account.queue.endPoll("terminated by setWebhook request");
      const connections = integer(call.parameters["max_connections"]) ?? 40;
      const secret = string(call.parameters["secret_token"]);
      account.webhook = url === "" ? undefined : { url, connections, secret };
      account.webhookChanged();
    });
  },

  deleteWebhook: (account, call) =>
    commits(() => {
      changeQueue(account, call.parameters);
      account.webhook = undefined;
      account.webhookChanged();
    }),

  getWebhookInfo(account) {
    const error = account.webhook?.lastError;
    const allowed = account.queue.allowed();
    return {
      result: {
        url: account.webhook?.url ?? "",
        has_custom_certificate: false,
        pending_update_count: account.queue.pending().length,
        ...(account.webhook && { max_connections: account.webhook.connections }),
        ...(allowed && { allowed_updates: allowed }),
        ...(error && { last_error_date: error.date, last_error_message: error.message }),
      },
    };
  },

  logOut: (account) =>
    commits(() => {
      account.queue.drop();
      account.awayUntil = account.clock.now() + AWAY_MS;
    }),

  close(account) {
    const waitMs = account.startedAt + LAUNCH_MS - account.clock.now();
    if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
    return commits(() => undefined);
  },

  getFile(account, call) {
    const file = account.files.get(string(call.parameters["file_id"]));
    const path = account.files.open(file);
    return {
      result: {
        file_id: file.fileId,
        file_unique_id: file.uniqueId,
        file_size: file.size,
        file_path: path,
      },
    };
  },
};

/** What is said before a bot that has logged out may come back. @throws Refusal */
export function checkLoggedIn({ awayUntil, clock }: Account): void {
  const waitMs = awayUntil - clock.now();
  if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
}

function checkWebhook(account: Account, url: string, parameters: Parameters): void {
  if (!URL.canParse(url)) throw badRequest("invalid webhook URL specified");
  const { protocol, port, hostname } = new URL(url);
  // This machine stands for the proxy that would take the TLS away.
  if (!account.isLocal && !["127.0.0.1", "localhost", "[::1]"].includes(hostname)) {
    if (protocol !== "https:") throw badRequest("bad webhook: An HTTPS URL must be provided for webhook");
    if (!WEBHOOK_PORTS.has(port)) {
      throw badRequest("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443");
    }
  }
  const secret = string(parameters["secret_token"]);
  if (secret.length > 256) throw badRequest("secret token is too long");
  if (!/^[\w-]*$/.test(secret)) throw badRequest("secret token contains unallowed characters");
}

function changeQueue(account: Account, parameters: Parameters): void {
  account.queue.allow(parameters["allowed_updates"]);
  if (flag(parameters["drop_pending_updates"])) account.queue.drop();
}
