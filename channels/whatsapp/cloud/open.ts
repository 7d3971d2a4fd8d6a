import { setMaxListeners } from "node:events";
import type { Channel } from "../../../src/core/channel.ts";
import type { ChannelHost } from "../../../src/core/host.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { CLOUD_FACE } from "../face.ts";
import type { WhatsAppSettings } from "../settings.ts";
import { download } from "./download.ts";
import { graphOf } from "./graph.ts";
import { MOST_DOWNLOAD_BYTES } from "./limits.ts";
import { openLine } from "./line.ts";
import { Presence } from "./presence.ts";
import { Notices } from "./notices.ts";
import { Receiver } from "./receive.ts";
import { send } from "./send.ts";
import { Standing } from "./standing.ts";
import { hearWebhook } from "./webhook.ts";
import { Windows } from "./window.ts";

/**
 * Opens a number of Meta's Cloud API. Does not wait for Meta: its webhook is heard at once.
 * @throws GatewayError "config.invalid" without `settings.cloud`, and where another channel has the webhook's path.
 */
export async function openCloud(settings: WhatsAppSettings, host: ChannelHost): Promise<Channel> {
  const { cloud, proxy, readReceipts } = settings;
  if (!cloud)
    throw new GatewayError(
      "config.invalid",
      `channels.${host.id}.cloud is missing; transport: cloud needs it`,
    );
  const { clock } = host;
  const ending = new AbortController();
  const closing = ending.signal;
  // As many calls listen as turns show life at once; Node would warn of a leak at eleven.
  setMaxListeners(0, closing);

  const standing = new Standing(host, cloud, closing);
  // A file that hangs must not hold a send, so the two share no connections.
  const [calling, loading] = await Promise.all([openLine(proxy), openLine(proxy)]);
  const heard = standing.heard.bind(standing);
  const graph = graphOf({ settings: cloud, line: calling, clock, heard });
  const windows = new Windows(host.state, clock);
  const presence = new Presence({ graph, settings: cloud, windows, clock, readReceipts, closing });
  const notices = new Notices({ graph, settings: cloud, log: host.log, closing });
  const receiver = new Receiver(host, windows);
  const webhook = hearWebhook({
    settings: cloud,
    host,
    async take(changes) {
      const told = await receiver.take(changes);
      if (told) notices.show(told);
      return told !== undefined;
    },
  });
  const looking = standing.look(graph);
  const fileParts = { settings: cloud, graph, line: loading, clock };
  const sendParts = { graph, settings: cloud, host, windows };

  return {
    ...CLOUD_FACE,
    fetchBytes: MOST_DOWNLOAD_BYTES,
    fetch: (ref, signal) => download(ref, fileParts, signal),
    send: (piece, attempt, signal) => send(piece, attempt, sendParts, signal),
    progress: (to, progress) => presence.progress(to, progress),
    taken: (to, refs) => presence.taken(to, refs),
    react: (to, ref, sign, signal) => presence.react(to, ref, sign, signal),
    async startLink(code) {
      const { digits } = await standing.number(graph);
      return `https://wa.me/${digits}?text=${encodeURIComponent(`/start ${code}`)}`;
    },
    async close() {
      await webhook.close();
      ending.abort();
      await Promise.all([looking, notices.settled()]);
      calling.idle();
      loading.idle();
    },
  };
}
