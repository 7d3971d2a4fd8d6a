import type {
  Channel,
  ChannelLimits,
  MediaForm,
  Piece,
  PieceBody,
  PlatformId,
} from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import type { Mark, MarkdownTree, Rendered } from "../../src/core/tree.ts";

/** A message as people of whatever platform see it: a text, or one medium with what stands below it. */
export type Shown = {
  readonly text: string;
  readonly marks: readonly Mark[];
  readonly media?: ShownMedia;
};

export type ShownMedia = {
  readonly bytes: Buffer;
  readonly as: MediaForm;
  readonly name: string;
};

/** A platform that a channel is still to be written for: what it can show, and how it writes. */
export type Script = {
  readonly limits: ChannelLimits;
  render(tree: MarkdownTree): Rendered;
  /** The text as it is sent, where signs in it take the place of marks. */
  inSigns(rendered: Rendered): string;
};

/**
 * A channel in memory that renders and limits as a real one: people send files under any name, and what is shown to
 * them is recorded with its bytes, as it would reach the platform.
 */
export class ScriptedPlatform {
  readonly #shown = new Map<string, Shown[]>();
  readonly #files = new Map<string, Uint8Array>();
  readonly #looking = new Set<() => void>();
  #host: ChannelHost | undefined;
  #ids = 0;

  open(script: Script, host: ChannelHost): Channel {
    this.#host = host;
    const { limits, render, inSigns } = script;
    return {
      limits,
      render,
      lengthOf: (rendered) => inSigns(rendered).length,
      fetch: async (ref) => {
        const bytes = this.#files.get(ref);
        if (!bytes) throw new GatewayError("media.unavailable", "the platform has no such file");
        return inChunks(bytes);
      },
      send: (piece) => this.#send(piece, inSigns, host),
      close: async () => {
        this.#host = undefined;
      },
    };
  }

  /** Keeps a file for the gateway to fetch; gives what names it. */
  upload(bytes: Uint8Array): string {
    const ref = `f${this.#files.size}`;
    this.#files.set(ref, bytes);
    return ref;
  }

  /** A person sends a message. */
  async say(chat: string, content: MessageEvent["content"]): Promise<void> {
    if (!this.#host) throw new Error("the scripted platform has no connection");
    this.#ids += 1;
    const id = `m${this.#ids}`;
    await this.#host.accept([
      {
        type: "message",
        id,
        ref: id,
        place: { chat, kind: "private" },
        from: { id: chat, name: "Mira" },
        sentAt: new Date(this.#host.clock.now()).toISOString(),
        content,
        addressed: true,
      },
    ]);
  }

  shownIn(chat: string): readonly Shown[] {
    return this.#shown.get(chat) ?? [];
  }

  /** Resolves as soon as a chat shows a message of this text. */
  async untilShown(chat: string, text: string): Promise<void> {
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (!this.shownIn(chat).some((message) => message.text === text)) return;
        this.#looking.delete(look);
        resolve();
      };
      this.#looking.add(look);
      look();
    });
  }

  async #send(piece: Piece, inSigns: Script["inSigns"], host: ChannelHost): Promise<readonly PlatformId[]> {
    const messages = await Promise.all(itemsOf(piece.body).map((item) => shown(item, inSigns, host)));
    const before = this.shownIn(piece.to.chat);
    this.#shown.set(piece.to.chat, [...before, ...messages]);
    for (const look of this.#looking) look();
    return messages.map((_message, at) => `p${piece.id}/${at}`);
  }
}

type Item = Exclude<PieceBody, { readonly kind: "album" }>;

function itemsOf(body: PieceBody): readonly Item[] {
  return body.kind === "album" ? body.items.map((item) => ({ kind: "media", ...item })) : [body];
}

async function shown(item: Item, inSigns: Script["inSigns"], host: ChannelHost): Promise<Shown> {
  if (item.kind === "text") return { text: inSigns(item.rendered), marks: [] };
  const { as, media, caption } = item;
  const chunks: Uint8Array[] = [];
  for await (const chunk of host.blobs.open(media.blob)) chunks.push(chunk);
  return {
    text: caption ? inSigns(caption) : "",
    marks: [],
    media: { bytes: Buffer.concat(chunks), as, name: media.filename ?? "" },
  };
}

async function* inChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024);
}
