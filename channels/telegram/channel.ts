import { setMaxListeners } from "node:events";
import type { Channel, ChannelFace } from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import { MOST_DOWNLOAD_BYTES } from "./announced.ts";
import { registerCommands } from "./commands.ts";
import { download } from "./download.ts";
import { find } from "./find.ts";
import { Identity } from "./identity.ts";
import { limitsOf } from "./limits.ts";
import { Live } from "./live.ts";
import { Pace } from "./pace.ts";
import { Previews } from "./previews.ts";
import { quietHours } from "./quiet.ts";
import { react } from "./react.ts";
import { receive } from "./receive.ts";
import { render, renderRich } from "./render.ts";
import { RichChats } from "./rich-chats.ts";
import { send } from "./send.ts";
import { Sightings } from "./sightings.ts";
import type { TelegramSettings } from "./settings.ts";
import { takeAway } from "./take-away.ts";
import { openLine } from "./transport.ts";

/** How often Telegram is asked to take messages back. */
const TAKE_BACK_TRIES = 3;

export function faceOf(settings: TelegramSettings): ChannelFace {
  return { limits: limitsOf(settings), render: new RichChats(settings.rich).any ? renderRich : render };
}

/** Opens a bot. Does not wait for Telegram: taking in begins when it can be reached. */
export async function openTelegram(settings: TelegramSettings, host: ChannelHost): Promise<Channel> {
  const { Api, InputFile } = await import("grammy");
  const { clock } = host;
  const { linkPreviews } = settings;
  const rich = new RichChats(settings.rich);
  const apiRoot = settings.apiRoot.replace(/\/+$/, "");
  // A poll that hangs must not hold a send, so the two share no connections.
  const [polling, sending] = await Promise.all([
    openLine(apiRoot, settings.proxy),
    openLine(apiRoot, settings.proxy),
  ]);
  const [pollApi, api] = [polling, sending].map((line) => {
    const fetch = line.fetch as never; // it does what grammY uses of node-fetch, whose type says much more
    return new Api(settings.token, { apiRoot, fetch }).raw;
  }) as [InstanceType<typeof Api>["raw"], InstanceType<typeof Api>["raw"]]; // one for each line
  const ending = new AbortController();
  const closing = ending.signal;
  // As many calls listen as turns show life at once; Node would warn of a leak at eleven.
  setMaxListeners(0, closing);

  const identity = new Identity();
  const pace = new Pace(clock, Math.random);
  const sightings = new Sightings();
  const previews = new Previews({ api, host, pace, sightings, closing });
  const live = new Live({ api, host, pace, previews, closing });
  // Before anything comes in: what an earlier process left belongs to no turn of this one.
  await previews.removeLeft();
  let registering: Promise<void> | undefined;
  const taking = receive({
    settings,
    line: polling,
    polling: pollApi,
    api,
    host: {
      ...host,
      accept(events) {
        sightings.heard(events);
        return host.accept(events);
      },
    },
    closing,
    known(me) {
      identity.is(me);
      registering ??= registerCommands({ api, bot: me.id, host, closing });
    },
    over: live,
  });
  const files = {
    api,
    line: sending,
    files: `${apiRoot}/file/bot${settings.token}/`,
    serverFolder: settings.serverFolder,
    clock,
  };
  const sendParts = {
    api,
    host,
    pace,
    file: (bytes: AsyncIterable<Uint8Array>, name: string) => new InputFile(bytes, name),
    linkPreviews,
    rich,
    isQuiet: quietHours(settings.quiet),
  };
  const findParts = {
    api,
    clock,
    pace,
    linkPreviews,
    rich,
    withoutPreviews: (to: ChatAddress, ids: readonly number[], signal: AbortSignal) =>
      previews.without(to, ids, signal),
  };

  return {
    ...faceOf(settings),
    // A Bot API server on this machine hands out files of any size.
    ...(settings.serverFolder === undefined ? { fetchBytes: MOST_DOWNLOAD_BYTES } : {}),
    fetch: (ref, signal) => download(ref, files, signal),
    send: (piece, attempt, signal) => live.around(piece.to, () => send(piece, attempt, sendParts, signal)),
    readyAt: (to) => pace.readyAt(to),
    async find(piece, attempt, known, signal) {
      await live.settled(piece.to);
      const found = await find(piece, attempt, known, findParts, signal);
      if (found.kind === "found") previews.sent(piece.to, found.ids);
      return found;
    },
    async takeBack(to, ids, signal) {
      await takeAway(to, ids.map(Number), { api, clock, pace, mostTries: TAKE_BACK_TRIES }, signal);
    },
    // A sign of life is worth nobody's trouble.
    progress: (to, progress) => live.show(to, progress).catch(() => {}),
    react: (to, ref, sign, signal) => react(to, ref, sign, { api, clock }, signal),
    async startLink(code) {
      const { username } = await identity.known(clock, closing);
      return `https://t.me/${username}?start=${code}`;
    },
    async close() {
      ending.abort();
      await Promise.all([taking, registering, live.close()]);
      await previews.close();
      polling.idle();
      sending.idle();
    },
  };
}
