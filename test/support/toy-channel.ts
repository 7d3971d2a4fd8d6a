import type {
  Attempt,
  Channel,
  ChannelHost,
  ChannelKind,
  Piece,
  PlatformId,
  Progress,
} from "../../src/core/channel.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { InboundEvent, MessageEvent, Place } from "../../src/core/events.ts";
import type { BlockNode, InlineNode, MarkdownTree, Rendered } from "../../src/core/tree.ts";

/** A message as people of the toy platform see it. */
export type Shown = {
  readonly chat: string;
  readonly piece: number;
  readonly text: string;
  readonly media: readonly string[];
  /** What the media are called, in their order. */
  readonly names: readonly string[];
  readonly replyTo?: string;
  readonly form?: string;
};

/**
 * A platform in memory: people speak and look, and a test decides what becomes of each send. It stays when a connection
 * closes, as a platform does.
 */
export class ToyPlatform {
  readonly shown: Shown[] = [];
  readonly progress: { readonly chat: string; readonly progress: Progress }[] = [];
  readonly files = new Map<string, AsyncIterable<Uint8Array> | (() => AsyncIterable<Uint8Array>)>();
  host: ChannelHost | undefined;
  readonly #looking = new Set<() => void>();
  /** What happens to a send, by its order from 1; a send that nothing is said of goes through. */
  outcome: (piece: Piece, attempt: Attempt, send: number) => "shown" | "shown, then lost" | Error = () =>
    "shown";
  sends = 0;
  #ids = 0;
  #handedOver: readonly InboundEvent[] = [];

  /** A person sends something; rejects when it was not taken, and the person may send it again. */
  async say(
    chat: string,
    content: string | MessageEvent["content"],
    extra: Partial<MessageEvent> & { place?: Place } = {},
  ): Promise<MessageEvent> {
    this.#ids += 1;
    const event: MessageEvent = {
      type: "message",
      id: `m${this.#ids}`,
      ref: `m${this.#ids}`,
      place: { chat, kind: "private" },
      from: { id: "ada", name: "Ada" },
      sentAt: "2026-01-01T00:00:00.000Z",
      content: typeof content === "string" ? [{ type: "text", text: content }] : content,
      addressed: true,
      ...extra,
    };
    await this.deliver([event]);
    return event;
  }

  /** A person sends a file; the channel announces it under a name that is no path. */
  async sendFile(chat: string, bytes: Uint8Array, filename: string): Promise<MessageEvent> {
    const ref = `f${this.files.size}`;
    this.files.set(ref, () => inChunks(bytes));
    const declared = { bytes: bytes.length, filename: plainName(filename) };
    return await this.say(chat, [{ type: "unfetched", kind: "file", ref, declared }]);
  }

  async deliver(events: readonly InboundEvent[]): Promise<void> {
    this.#handedOver = events;
    if (!this.host) throw new Error("the toy platform has no connection");
    await this.host.accept(events);
  }

  /** Hands over again what it handed over last, as a platform does that got no acknowledgement. */
  async repeat(): Promise<void> {
    await this.deliver(this.#handedOver);
  }

  /** Resolves as soon as the predicate holds of what people see. */
  async until(holds: (shown: readonly Shown[]) => boolean): Promise<readonly Shown[]> {
    return await new Promise((resolve) => {
      const look = (): void => {
        if (!holds(this.shown)) return;
        this.#looking.delete(look);
        resolve(this.shown);
      };
      this.#looking.add(look);
      look();
    });
  }

  textsIn(chat: string): readonly string[] {
    return this.shown.filter((message) => message.chat === chat).map((message) => message.text);
  }

  send(piece: Piece, attempt: Attempt): readonly PlatformId[] {
    this.sends += 1;
    const outcome = this.outcome(piece, attempt, this.sends);
    if (outcome instanceof Error) throw outcome;
    const { body } = piece;
    const items = body.kind === "album" ? body.items : body.kind === "media" ? [body] : [];
    this.shown.push({
      chat: piece.to.chat,
      piece: piece.id,
      text:
        body.kind === "text" ? body.rendered.text : items.map((item) => item.caption?.text ?? "").join("|"),
      media: items.map((item) => item.media.blob),
      names: items.map((item) => plainName(item.media.filename ?? item.media.type)),
      ...(piece.replyTo === undefined ? {} : { replyTo: piece.replyTo }),
      ...(attempt.form === undefined ? {} : { form: attempt.form }),
    });
    for (const look of this.#looking) look();
    if (outcome === "shown, then lost")
      throw new Error("the connection was reset after the request was written");
    return items.length > 1
      ? items.map((_item, n) => `p${this.shown.length}/${n}`)
      : [`p${this.shown.length}`];
  }
}

/** A whole channel in one file, to show what a new channel takes; nothing in src/ knows of it. */
export function toyKind(
  platform: ToyPlatform,
  options: { readonly idempotent?: true } = {},
): ChannelKind<Record<string, never>> {
  return {
    kind: "toy",
    settings: { safeParse: () => ({ success: true, data: {} }) },
    open: async (_settings, host) => openToy(platform, host, options),
  };
}

function openToy(platform: ToyPlatform, host: ChannelHost, options: { readonly idempotent?: true }): Channel {
  platform.host = host;
  return {
    ...options,
    limits: {
      textLength: 200,
      captionLength: 50,
      fileBytes: 1_000_000,
      shows: {
        image: { types: ["image/jpeg", "image/png"], bytes: 1_000_000 },
        voice: { types: ["audio/ogg"], bytes: 1_000_000 },
      },
      album: { size: 3, mixes: [["image"]] },
      drafts: true,
    },
    render,
    async fetch(ref, signal) {
      const file = platform.files.get(ref);
      if (!file) throw new GatewayError("media.unavailable", "the toy platform has no such file");
      return unlessAborted(typeof file === "function" ? file() : file, signal);
    },
    send: async (piece, attempt, signal) => {
      signal.throwIfAborted();
      return platform.send(piece, attempt);
    },
    progress: async (to, progress) => void platform.progress.push({ chat: to.chat, progress }),
    startLink: async (code) => `toy://start/${code}`,
    close: async () => {
      platform.host = undefined;
    },
  };
}

async function* inChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024);
}

async function* unlessAborted(
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    signal.throwIfAborted();
    yield chunk;
  }
}

function plainName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1).replaceAll(/\p{C}/gu, "");
}

function render(tree: MarkdownTree): Rendered {
  return { text: tree.blocks.map(blockText).join("\n\n"), marks: [] };
}

function blockText(block: BlockNode): string {
  switch (block.type) {
    case "paragraph":
    case "heading":
      return inlineText(block.inline);
    case "code":
    case "math":
      return block.text;
    case "quote":
      return block.blocks.map(blockText).join("\n");
    case "list":
      return block.items.map((item) => `- ${item.blocks.map(blockText).join(" ")}`).join("\n");
    case "table":
      return [block.header, ...block.rows]
        .map((row) => row.map((cell) => inlineText(cell.inline)).join(" "))
        .join("\n");
    case "rule":
      return "---";
  }
}

function inlineText(inline: readonly InlineNode[]): string {
  return inline
    .map((node): string => {
      switch (node.type) {
        case "text":
        case "code":
          return node.text;
        case "break":
          return "\n";
        case "image":
          return node.alt;
        case "bold":
        case "italic":
        case "strike":
        case "link":
          return inlineText(node.inline);
      }
    })
    .join("");
}
