import type { Api } from "grammy";
import type { UserFromGetMe } from "grammy/types";
import type { ChannelHost } from "../../src/core/host.ts";
import { poll } from "./poll.ts";
import type { Over } from "./presses.ts";
import type { TelegramSettings } from "./settings.ts";
import { holdBot } from "./token-guard.ts";
import type { Line } from "./transport.ts";
import { Updates } from "./updates.ts";
import { hearWebhook } from "./webhook.ts";

export type ReceiveParts = {
  readonly settings: TelegramSettings;
  /** Used for polls alone: one that hangs must not hold a send. */
  readonly line: Line;
  readonly polling: Api["raw"];
  readonly api: Api["raw"];
  readonly host: ChannelHost;
  readonly closing: AbortSignal;
  /** Called when Telegram has said who the bot is. */
  readonly known: (me: UserFromGetMe) => void;
  readonly over: Over;
};

/**
 * Takes in what people send, by polling or by a webhook, until `closing` aborts. The promise never rejects; it resolves
 * when what was handed over is committed, or given back to Telegram.
 * @throws GatewayError "channel.refused" where another connection of this process has the bot; "config.invalid".
 */
export function receive(parts: ReceiveParts): Promise<void> {
  const { settings, host, api, over } = parts;
  const letGo = holdBot(settings.token, settings.apiRoot, host.id);
  const updates = new Updates(host, api, {
    channelPosts: settings.channelPosts ?? false,
    business: settings.business,
    isOver: (draft) => over.isOver?.(draft) ?? false,
    isOverButton: (data) => over.isOverButton?.(data) ?? false,
  });
  const common = { ...parts, updates, random: Math.random };
  try {
    const taking =
      settings.webhook === undefined
        ? poll(common)
        : hearWebhook({ ...common, base: settings.webhook, token: settings.token });
    return taking.then(() => updates.settled()).finally(letGo);
  } catch (thrown) {
    letGo();
    throw thrown;
  }
}
