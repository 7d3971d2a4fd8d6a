import { GatewayError } from "../../src/core/errors.ts";
import type { ChannelId } from "../../src/core/identity.ts";

/** By Bot API and bot, the connection of this process that takes its updates in. */
const taken = new Map<string, ChannelId>();

/**
 * Telegram hands an update to whoever asks first, so one connection of a process asks. Gives how to let go of the bot.
 * @throws GatewayError "channel.refused" where another connection has it.
 */
export function holdBot(token: string, apiRoot: string, channel: ChannelId): () => void {
  const server = new URL(apiRoot).href.replace(/\/+$/, "");
  const bot = `${server} ${token.slice(0, token.indexOf(":"))}`;
  const holder = taken.get(bot);
  if (holder !== undefined) throw new GatewayError("channel.refused", heldWords(holder, channel));
  taken.set(bot, channel);
  return () => void taken.delete(bot);
}

function heldWords(holder: ChannelId, channel: ChannelId): string {
  if (holder === channel)
    return `the earlier connection of the channel “${channel}” has not ended yet; wait for it`;
  return (
    `the channels “${holder}” and “${channel}” have the token of the same bot, whose messages only one can take in; ` +
    `make another bot with @BotFather and set channels.${channel}.token to its token`
  );
}
