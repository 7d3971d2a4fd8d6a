import type { Channel } from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import { guardConsole } from "./baileys/life/console-guard.ts";
import type { WhatsAppSettings } from "./settings.ts";

/** Opens a linked device of an account, or a number of the Cloud API. Does not wait for WhatsApp. */
export async function openWhatsApp(settings: WhatsAppSettings, host: ChannelHost): Promise<Channel> {
  if (settings.transport === "cloud") {
    const { openCloud } = await import("./cloud/open.ts");
    return await openCloud(settings, host);
  }
  guardConsole();
  const { openBaileys } = await import("./baileys/open.ts");
  return await openBaileys(settings, host);
}
