import type { Channel, ChannelFace, ChannelLimits } from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { Live } from "./live.ts";
import { readPage } from "./page-files.ts";
import { render } from "./render.ts";
import { type Site, answer } from "./routes.ts";
import { SHOWN } from "./shown.ts";
import { Transcript } from "./transcript.ts";
import { Uploads } from "./uploads.ts";

const GB = 1024 ** 3;

// Our own page sets no limits; these keep one entry of the transcript, and what a page holds of it, within reason.
export const LIMITS: ChannelLimits = {
  textLength: 1_000_000,
  captionLength: 100_000,
  fileBytes: GB,
  shows: {
    image: { types: SHOWN.image, bytes: GB },
    animation: { types: SHOWN.image, bytes: GB },
    video: { types: SHOWN.video, bytes: GB },
    audio: { types: SHOWN.audio, bytes: GB },
  },
  album: { size: 10, mixes: [["image", "animation", "video"], ["file"], ["audio"]] },
  markup: true,
  drafts: true,
};

export const FACE: ChannelFace = { limits: LIMITS, render };

/** Opens the web chat: the page at "/", and the conversations behind it. */
export async function openWebChat(host: ChannelHost): Promise<Channel> {
  const closing = new AbortController();
  const running = new Set<Promise<Response>>();
  const live = new Live(host.clock);
  const transcript = new Transcript(
    host.state,
    () => new Date(host.clock.now()).toISOString(),
    () => live.entryAdded(),
  );
  const uploads = await Uploads.open(host.stateDir);
  const site: Site = { host, page: await readPage(), transcript, live, uploads, closing: closing.signal };
  await transcript.recover(async (event) => void (await host.accept([event])));
  host.http.mount("/", async (request) => {
    const response = answer(site, request);
    running.add(response);
    return response.finally(() => running.delete(response));
  });

  return {
    ...FACE,
    idempotent: true,
    fetch: (ref, signal) => uploads.read(ref, signal),
    async send(piece) {
      const { chat } = piece.to;
      // Before, so that no reader sees the draft behind its final; after, for a draft that came in between.
      live.clear(chat);
      const seq = await transcript.add(piece).catch((cause: unknown) => {
        // One transaction that did not commit; the gateway goes on trying for a day, not for its ten attempts.
        throw new GatewayError("send.not_written", "the conversation could not be written to", { cause });
      });
      live.clear(chat);
      const { body } = piece;
      return body.kind === "album" ? body.items.map((_item, n) => `${seq}/${n}`) : [String(seq)];
    },
    async progress(to, progress) {
      live.show(to.chat, progress);
    },
    async close() {
      closing.abort();
      live.close();
      await Promise.allSettled(running);
    },
  };
}
