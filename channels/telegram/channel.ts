import { setMaxListeners } from "node:events";
import type { UserFromGetMe } from "grammy/types";
import type { Channel, ChannelHost, ChannelLimits } from "../../src/core/channel.ts";
import { pause } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import { MOST_DOWNLOAD_BYTES } from "./announced.ts";
import { within } from "./deadline.ts";
import { download } from "./download.ts";
import { poll } from "./poll.ts";
import { render } from "./render.ts";
import { destination, send } from "./send.ts";
import { openLine } from "./transport.ts";

export type TelegramSettings = { readonly token: string; readonly apiRoot: string };

const UPLOAD_BYTES = 50 * 1024 * 1024; // Bot API "Sending files": 50 MB, and 10 MB for photos

export const LIMITS: ChannelLimits = {
  // Bot API sendMessage: 1–4096 after entities; the rest is room for the words that mark a text as sent again.
  textLength: 4096 - 96,
  captionLength: 1024, // Bot API sendPhoto: 0–1024 after entities
  fileBytes: UPLOAD_BYTES,
  shows: {
    image: {
      types: ["image/jpeg", "image/png", "image/webp"],
      bytes: 10 * 1024 * 1024,
      sides: 10_000, // Bot API sendPhoto: width and height together
      ratio: 20,
      plain: true,
    },
    animation: { types: ["image/gif"], bytes: UPLOAD_BYTES },
    video: { types: ["video/mp4"], bytes: UPLOAD_BYTES },
    audio: { types: ["audio/mpeg", "audio/mp4", "audio/x-m4a"], bytes: UPLOAD_BYTES }, // Bot API sendAudio: .MP3, .M4A
    voice: { types: ["audio/ogg"], bytes: UPLOAD_BYTES },
  },
  album: { size: 10, mixes: [["image", "video"], ["file"], ["audio"]] }, // Bot API sendMediaGroup: 2–10
  drafts: false,
};

const ACTION_MS = 10_000;
const LINK_MS = 10_000;

/** Opens a bot. Does not wait for Telegram: taking in begins when it can be reached. */
export async function openTelegram(settings: TelegramSettings, host: ChannelHost): Promise<Channel> {
  const { Api, InputFile } = await import("grammy");
  const apiRoot = settings.apiRoot.replace(/\/+$/, "");
  // A poll that hangs must not hold a send, so the two share no connections.
  const [polling, sending] = [openLine(apiRoot), openLine(apiRoot)];
  const [pollApi, api] = [polling, sending].map((line) => {
    const fetch = line.fetch as never; // it does what grammY uses of node-fetch, whose type says much more
    return new Api(settings.token, { apiRoot, fetch }).raw;
  }) as [InstanceType<typeof Api>["raw"], InstanceType<typeof Api>["raw"]]; // one for each line
  const closing = new AbortController();
  // As many calls listen as turns show life at once; Node would warn of a leak at eleven.
  setMaxListeners(0, closing.signal);
  const identity = new Identity();
  const taking = poll({ api: pollApi, host, closing: closing.signal, known: (me) => identity.is(me) });

  return {
    limits: LIMITS,
    render,
    fetchBytes: MOST_DOWNLOAD_BYTES,
    fetch: (ref, signal) =>
      download(ref, { api, line: sending, files: `${apiRoot}/file/bot${settings.token}/` }, signal),
    send: (piece, attempt, signal) =>
      send(
        piece,
        attempt,
        { api, blobs: host.blobs, file: (bytes, name) => new InputFile(bytes, name) },
        signal,
      ),
    async progress(to, progress) {
      if (progress.kind !== "typing") return;
      const action = { ...actionPlace(to), action: "typing" } as const;
      // A sign of life is worth no more than one try.
      await within(host.clock, ACTION_MS, closing.signal, (signal) =>
        api.sendChatAction(action, signal),
      ).catch(() => {});
    },
    async startLink(code) {
      const me = await identity.known(host, closing.signal);
      return `https://t.me/${me.username}?start=${code}`;
    },
    async close() {
      closing.abort();
      await taking;
      polling.idle();
      sending.idle();
    },
  };
}

/** An action, other than a message, names General by its number. */
function actionPlace(to: ChatAddress): ReturnType<typeof destination> {
  return to.topic === "1" ? { chat_id: Number(to.chat), message_thread_id: 1 } : destination(to);
}

/** Who the bot is, as soon as Telegram has told. */
class Identity {
  #me: UserFromGetMe | undefined;
  readonly #told = new AbortController();

  is(me: UserFromGetMe): void {
    this.#me = me;
    this.#told.abort();
  }

  /** @throws GatewayError "channel.unreachable" when it is not known within 10 s. */
  async known(host: ChannelHost, closing: AbortSignal): Promise<UserFromGetMe> {
    if (!this.#me) await pause(host.clock, LINK_MS, AbortSignal.any([this.#told.signal, closing]));
    if (this.#me) return this.#me;
    throw new GatewayError(
      "channel.unreachable",
      `Telegram has not said who this bot is within ${LINK_MS / 1000} s; check the network and the token`,
    );
  }
}
