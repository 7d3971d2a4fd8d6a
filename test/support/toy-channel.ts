import type {
  Attempt,
  Channel,
  ChannelFace,
  ChannelKind,
  KnownAround,
  Piece,
  PlatformId,
  Progress,
  Whereabouts,
} from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { EditEvent, InboundEvent, MessageEvent, Place, ReactionEvent } from "../../src/core/events.ts";
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
  /** What stands on its buttons. */
  readonly choices?: readonly string[];
};

/** What is old when it arrives is not answered as usual; of clocks that stand in the past it is the future, which is now. */
const SENT_AT = new Date().toISOString();

/** What a platform can do beside sending. */
export type ToyAbilities = {
  /** Messages can be looked for between two others, and taken back. */
  readonly finds?: true;
  /** How many buttons can stand below a text. */
  readonly choices?: number;
};

/**
 * A platform in memory: people speak and look, and a test decides what becomes of each send. It stays when a connection
 * closes, as a platform does.
 */
export class ToyPlatform {
  readonly shown: Shown[] = [];
  readonly progress: { readonly chat: string; readonly progress: Progress }[] = [];
  /** What the agent has taken up, by chat. */
  readonly taken: { readonly chat: string; readonly refs: readonly string[] }[] = [];
  /** Our signs at people's messages, by their refs; and how often one was shown. */
  readonly signs = new Map<string, string>();
  signed = 0;
  readonly files = new Map<string, AsyncIterable<Uint8Array> | (() => AsyncIterable<Uint8Array>)>();
  host: ChannelHost | undefined;
  readonly abilities: ToyAbilities;
  /** What has happened, in order: sends, searches and what was taken back. */
  readonly calls: string[] = [];
  /** When a chat may be sent the next; epoch ms. */
  readyAt: (chat: string) => number = () => 0;
  /** What comes of a search, by its order from 1; one that nothing is said of tells the truth. */
  search: (search: number) => "truth" | "unknown" | Error = () => "truth";
  searches = 0;
  /** All messages of all chats, the oldest first, with what people see of ours. */
  #messages: readonly {
    readonly chat: string;
    readonly ids: readonly PlatformId[];
    readonly shown?: Shown;
  }[] = [];
  readonly #looking = new Set<() => void>();
  /** What happens to a send, by its order from 1; a send that nothing is said of goes through. */
  outcome: (piece: Piece, attempt: Attempt, send: number) => "shown" | "shown, then lost" | Error = () =>
    "shown";
  sends = 0;
  /** What a send meets on its way. */
  onTheWay: () => Promise<void> = async () => {};

  constructor(abilities: ToyAbilities = {}) {
    this.abilities = abilities;
  }

  #ids = 0;
  #handedOver: readonly InboundEvent[] = [];

  /** A person sends something; rejects when it was not taken, and the person may send it again. */
  async say(
    chat: string,
    content: string | MessageEvent["content"],
    extra: Partial<MessageEvent> & { place?: Place } = {},
  ): Promise<MessageEvent> {
    const event = this.#said(chat, content, extra);
    await this.deliver([event]);
    return event;
  }

  /** A person sends something that stands there at once; it is handed over when what it gives is called. */
  sayLate(chat: string, content: string): () => Promise<void> {
    const event = this.#said(chat, content, {});
    return () => this.deliver([event]);
  }

  #said(chat: string, content: string | MessageEvent["content"], extra: Partial<MessageEvent>): MessageEvent {
    this.#ids += 1;
    const event: MessageEvent = {
      type: "message",
      id: `m${this.#ids}`,
      ref: `m${this.#ids}`,
      place: { chat, kind: "private" },
      from: { id: "ada", name: "Ada" },
      sentAt: SENT_AT,
      content: typeof content === "string" ? [{ type: "text", text: content }] : content,
      addressed: true,
      ...extra,
    };
    this.#messages = [...this.#messages, { chat: event.place.chat, ids: [event.ref] }];
    return event;
  }

  /** A person sends a file; the channel announces it under a name that is no path. */
  async sendFile(chat: string, bytes: Uint8Array, filename: string): Promise<MessageEvent> {
    const ref = `f${this.files.size}`;
    this.files.set(ref, () => inChunks(bytes));
    const declared = { bytes: bytes.length, filename: plainName(filename) };
    return await this.say(chat, [{ type: "unfetched", kind: "file", ref, declared }]);
  }

  /** A person changes a message: all of what it says now. */
  async edit(
    { type: _message, whole: _whole, ...message }: MessageEvent,
    content: string | MessageEvent["content"],
    extra: Partial<EditEvent> = {},
  ): Promise<void> {
    this.#ids += 1;
    await this.deliver([
      {
        ...message,
        type: "edited",
        id: `e${this.#ids}`,
        content: typeof content === "string" ? [{ type: "text", text: content }] : content,
        ...extra,
      },
    ]);
  }

  /** A person takes messages back. */
  async remove(place: Place, ...refs: readonly string[]): Promise<void> {
    this.#ids += 1;
    await this.deliver([{ type: "deleted", id: `d${this.#ids}`, place, refs, sentAt: SENT_AT }]);
  }

  /** Ada, or somebody else, reacts to a message. */
  async react(
    place: Place,
    ref: string,
    signs: Partial<Pick<ReactionEvent, "added" | "removed" | "from">>,
  ): Promise<void> {
    this.#ids += 1;
    const event = { type: "reaction", id: `r${this.#ids}`, place, ref, sentAt: SENT_AT } as const;
    await this.deliver([{ ...event, from: { id: "ada", name: "Ada" }, added: [], removed: [], ...signs }]);
  }

  /** What the platform calls our newest message of this text. */
  refOf(text: string): PlatformId {
    return this.#messages.findLast(({ shown }) => shown?.text === text)?.ids[0] ?? "";
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
    const shown = asShown(piece, attempt);
    const { to, replaces } = piece;
    const ids = replaces === undefined ? this.#newIds(shown.media.length) : [replaces];
    if (replaces === undefined) {
      this.shown.push(shown);
      this.#messages = [...this.#messages, { chat: to.chat, ids, shown }];
    } else this.#edit(replaces, shown);
    this.calls.push(`sent ${shown.text}${shown.media.join()}`);
    for (const look of this.#looking) look();
    if (outcome === "shown, then lost")
      throw new Error("the connection was reset after the request was written");
    return ids;
  }

  #newIds(media: number): readonly PlatformId[] {
    this.#ids += 1;
    return media > 1 ? Array.from({ length: media }, (_, n) => `p${this.#ids}/${n}`) : [`p${this.#ids}`];
  }

  #edit(id: PlatformId, to: Shown): void {
    const edited = this.#messages.find(({ ids }) => ids.includes(id));
    if (!edited?.shown)
      throw new GatewayError("send.refused", "there is no such message", { stepDown: "new" });
    this.shown.splice(this.shown.indexOf(edited.shown), 1, to);
    this.#messages = this.#messages.map((message) =>
      message === edited ? { ...edited, shown: to } : message,
    );
  }

  /** As a platform without a history for bots: what stands between the nearest ids that are known. */
  find(piece: Piece, attempt: Attempt, { before, after }: KnownAround): Whereabouts {
    this.searches += 1;
    this.calls.push("searched");
    const outcome = this.search(this.searches);
    if (outcome instanceof Error) throw outcome;
    if (outcome === "unknown") return { kind: "unknown" };
    const at = (id: PlatformId): number => this.#messages.findIndex(({ ids }) => ids.includes(id));
    const [from, to] = [Math.max(...before.map(at)), Math.min(...after.map(at))];
    const wanted = JSON.stringify({ ...asShown(piece, attempt), piece: 0 });
    const found = this.#messages
      .slice(from + 1, to)
      .find(({ shown }) => shown && JSON.stringify({ ...shown, piece: 0 }) === wanted);
    return found ? { kind: "found", ids: found.ids } : { kind: "absent" };
  }

  /** What becomes of a sign of ours on its way. */
  signing: (ref: string, sign: string | undefined) => Promise<void> = async (ref, sign) =>
    this.sign(ref, sign);

  sign(ref: string, sign: string | undefined): void {
    if (sign === undefined) this.signs.delete(ref);
    else {
      this.signs.set(ref, sign);
      this.signed += 1;
    }
  }

  takeBack(ids: readonly PlatformId[]): void {
    const gone = this.#messages.find((message) => message.ids.join() === ids.join());
    this.calls.push(`took back ${gone?.shown?.text ?? "nothing"}`);
    if (!gone?.shown) return;
    this.shown.splice(this.shown.indexOf(gone.shown), 1);
    this.#messages = this.#messages.map(({ shown, ...message }) =>
      shown === gone.shown || !shown ? message : { ...message, shown },
    );
  }
}

function asShown({ id, to, body, replyTo }: Piece, { form }: Attempt): Shown {
  const items = body.kind === "album" ? body.items : body.kind === "media" ? [body] : [];
  const choices = body.kind === "text" ? body.choices?.map(({ label }) => label) : undefined;
  return {
    chat: to.chat,
    piece: id,
    text: body.kind === "text" ? body.rendered.text : items.map((item) => item.caption?.text ?? "").join("|"),
    media: items.map((item) => item.media.blob),
    names: items.map((item) => plainName(item.media.filename ?? item.media.type)),
    ...(replyTo === undefined ? {} : { replyTo }),
    ...(form === undefined ? {} : { form }),
    ...(choices === undefined ? {} : { choices }),
  };
}

/** A whole channel in one file, to show what a new channel takes; nothing in src/ knows of it. */
export function toyKind(
  platform: ToyPlatform,
  options: { readonly idempotent?: true } = {},
): ChannelKind<Record<string, never>> {
  return {
    kind: "toy",
    settings: { safeParse: () => ({ success: true, data: {} }) },
    face: () => faceOf(platform),
    single: () => true,
    open: async (_settings, host) => openToy(platform, host, options),
  };
}

function faceOf({ abilities }: ToyPlatform): ChannelFace {
  return {
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
      ...(abilities.choices === undefined ? {} : { choices: abilities.choices }),
    },
    render,
  };
}

function openToy(platform: ToyPlatform, host: ChannelHost, options: { readonly idempotent?: true }): Channel {
  platform.host = host;
  const { abilities } = platform;
  return {
    ...options,
    ...faceOf(platform),
    readyAt: ({ chat }) => platform.readyAt(chat),
    ...(abilities.finds
      ? {
          find: async (piece, attempt, known) => platform.find(piece, attempt, known),
          takeBack: async (_to, ids) => platform.takeBack(ids),
        }
      : {}),
    async fetch(ref, signal) {
      const file = platform.files.get(ref);
      if (!file) throw new GatewayError("media.unavailable", "the toy platform has no such file");
      return unlessAborted(typeof file === "function" ? file() : file, signal);
    },
    send: async (piece, attempt, signal) => {
      signal.throwIfAborted();
      await platform.onTheWay();
      return platform.send(piece, attempt);
    },
    progress: async (to, progress) => void platform.progress.push({ chat: to.chat, progress }),
    taken: async (to, refs) => void platform.taken.push({ chat: to.chat, refs }),
    react: async (_to, ref, sign) => await platform.signing(ref, sign),
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
