import type { BlobRef, MediaBlock } from "./blocks.ts";
import type { Clock } from "./clock.ts";
import type { InboundEvent } from "./events.ts";
import type { ChannelId, ChatAddress } from "./identity.ts";
import type { Log } from "./log.ts";
import type { Language } from "./sentences.ts";
import type { MarkdownTree, Rendered } from "./tree.ts";

/** What `channels/<kind>/index.ts` exports by default: its settings, and how to open a connection. */
export type ChannelKind<Settings = never> = {
  readonly kind: string;
  /** A strict zod object; `config/` checks the operator's keys with it and writes the editor's schema from it. */
  readonly settings: SettingsSchema<Settings>;
  /** Where everybody who gets in is one person, that person's id: the owner, unless the operator names another. */
  readonly owner?: string;
  /** How this platform's ids of people look, for owner, allow and deny; `example` is shown to whoever wrote another thing. */
  readonly people?: { readonly pattern: RegExp; readonly example: string };
  open(settings: Settings, host: ChannelHost): Promise<Channel>;
  /**
   * Asks the platform whether the connection can work, for `perch check --live`: changes nothing there. Never rejects; an
   * unreachable platform is a finding.
   */
  examine?(settings: Settings, by: Examination): Promise<readonly Finding[]>;
  /** What a connection needs to be itself again on another machine, sealed where its settings hold a key. */
  backup?(settings: Settings, host: KeepsakeHost): Promise<Uint8Array>;
  /** @throws GatewayError "config.invalid" for bytes that are no backup of this kind, or sealed with another key. */
  restore?(settings: Settings, host: KeepsakeHost, bytes: Uint8Array): Promise<void>;
};

/** What `backup` and `restore` are handed; the connection is not open meanwhile in this process. */
export type KeepsakeHost = Pick<ChannelHost, "id" | "state" | "clock" | "log">;

export type Examination = {
  readonly clock: Clock;
  /** Chats that the configuration has rules for, by the platform's ids. */
  readonly chats: readonly { readonly chat: string; readonly when: "addressed" | "all" | "none" }[];
  /** Where people and platforms reach mounted paths. */
  readonly origin: string;
};

/** What was found: a fact, or a fault with what to do about it, one sentence each. */
export type Finding = { readonly kind: "fact" | "fault"; readonly text: string; readonly remedy?: string };

export type SettingsSchema<Settings> = {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: Settings }
    | { readonly success: false; readonly error: { readonly issues: readonly SettingsIssue[] } };
};

export type SettingsIssue = {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input?: unknown;
};

/** An open connection to a platform. It sends one piece at a time and never retries by itself. */
export type Channel = {
  readonly limits: ChannelLimits;
  /** Sending a piece of the same id again has no second effect, so that an unknown outcome can simply be tried again. */
  readonly idempotent?: true;
  /** Pure. `reply` splits what it gives and stores it, so that a retry sends the same bytes. */
  render(tree: MarkdownTree): Rendered;
  /** Pure. How long a text is when it is sent, where signs take the place of marks; else it is the text's own length. */
  lengthOf?(rendered: Rendered): number;
  /** The largest file that `fetch` can get, where the platform sets a bound. */
  readonly fetchBytes?: number;
  /** @throws GatewayError "media.unavailable" or "media.too_large". */
  fetch(ref: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Sends one piece; an album has several ids.
   * @throws GatewayError with a `send.*` code; any other error counts as an unknown outcome.
   */
  send(piece: Piece, attempt: Attempt, signal: AbortSignal): Promise<readonly PlatformId[]>;
  /** From when on (epoch ms) a piece may be sent there without overstepping the platform's pace; what is past is now. */
  readyAt?(to: ChatAddress): number;
  /**
   * Looks for a piece whose outcome is unknown, in the chat where it went. Its ids where it stands there, whole; "absent"
   * where it is certain that it does not; "unknown" where neither can be told. Shows nobody anything new.
   * @throws GatewayError with a `send.*` code when the platform cannot be asked now.
   */
  find?(piece: Piece, attempt: Attempt, known: KnownAround, signal: AbortSignal): Promise<Whereabouts>;
  /** Takes back messages of ours; what is gone already is no error. Never throws. */
  takeBack?(to: ChatAddress, ids: readonly PlatformId[], signal: AbortSignal): Promise<void>;
  /**
   * A sign of life. Never throws; a draft is superseded by the next and never becomes the final. Resolves when the next one
   * may be shown, so that a channel keeps its own pace; "over" does not wait for what is on its way.
   */
  progress?(to: ChatAddress, progress: Progress): Promise<void>;
  /** The agent has taken up messages, by their `ref`s: the time to say that they were read. Never throws. */
  taken?(to: ChatAddress, refs: readonly string[]): Promise<void>;
  /**
   * Links this connection with an account of the platform's while a person looks on; the last step is "linked" or "failed".
   * One pairing at a time: a second one ends the first. Never throws; `signal` ends it without a trace.
   */
  pair?(how: PairingWish, signal: AbortSignal): AsyncIterable<PairingStep>;
  /** A link that sends `/start <code>` from the account of whoever opens it: how a person proves to be the owner. */
  startLink?(code: string): Promise<string>;
  /** Stops taking in; resolves when what was handed over is accepted or given back to the platform. */
  close(): Promise<void>;
};

export type ChannelLimits = {
  /** UTF-16 units of rendered text in one message, or what `lengthOf` counts. */
  readonly textLength: number;
  /** The same of a rendered caption; 0 where media have none. */
  readonly captionLength: number;
  /** Bytes that one file may have. */
  readonly fileBytes: number;
  /** What is shown or played as what it is; everything else is made into something that is, or goes as a file. */
  readonly shows: Readonly<Partial<Record<Exclude<MediaForm, "file">, Showing>>>;
  /** How many media an album holds, and which may stand in one together; absent where there are none. */
  readonly album?: { readonly size: number; readonly mixes: readonly (readonly MediaForm[])[] };
  /** `render` gives markup, which must not be cut: a longer answer is cut as a tree, before it is rendered. */
  readonly markup?: true;
  /** Whether `progress` shows drafts; without it only typing is asked for. */
  readonly drafts: boolean;
  /** How many buttons can stand below a text; without it choices are written out as a list. */
  readonly choices?: number;
};

/**
 * How a medium appears in a chat. A voice note is Opus in Ogg, an animation is a picture that moves without sound, and a
 * "file" is offered for download, which everything can be.
 */
export type MediaForm = "image" | "animation" | "video" | "audio" | "voice" | "file";

/** What a platform shows or plays in one form. */
export type Showing = {
  /** By their bytes. */
  readonly types: readonly string[];
  readonly bytes: number;
  /** Pixels of both sides together. */
  readonly sides?: number;
  /** How many times as long as the other one side may be. */
  readonly ratio?: number;
  /** Only 8 bits a colour, and no CMYK. */
  readonly plain?: true;
  /** Nothing can stand below it. */
  readonly captionless?: true;
};

export type PlatformId = string;

/** One message to be sent. `id` is stable over retries and restarts. */
export type Piece = {
  readonly id: number;
  readonly to: ChatAddress;
  readonly replyTo?: string;
  /** A message of ours that this text is put in the place of; where that is refused, the step-down is "new". */
  readonly replaces?: PlatformId;
  readonly body: PieceBody;
};

/** A button: what stands on it, and 8 random letters and digits by which its press is known. */
export type Choice = { readonly label: string; readonly key: string };

/** What is recorded of a chat around a piece of unknown outcome: ids of messages that came before it, and after. */
export type KnownAround = { readonly before: readonly PlatformId[]; readonly after: readonly PlatformId[] };

export type Whereabouts =
  | { readonly kind: "found"; readonly ids: readonly PlatformId[] }
  | { readonly kind: "absent" }
  | { readonly kind: "unknown" };

export type PieceBody =
  | { readonly kind: "text"; readonly rendered: Rendered; readonly choices?: readonly Choice[] }
  | ({ readonly kind: "media" } & MediaItem)
  | { readonly kind: "album"; readonly items: readonly MediaItem[] };

export type MediaItem = {
  readonly as: MediaForm;
  readonly media: MediaBlock;
  readonly caption?: Rendered;
};

/** `form` is the simpler form that the channel itself named in an earlier refusal: "plain", "document". */
export type Attempt = { readonly number: number; readonly form?: string };

export type Progress =
  | { readonly kind: "typing" }
  /**
   * All of the answer so far, as Markdown, and as a tree for channels that render it (absent where it has no markup);
   * `live` is how the operator wants it shown there.
   */
  | {
      readonly kind: "draft";
      readonly text: string;
      readonly tree?: () => MarkdownTree;
      readonly live?: Live;
    }
  /** The turn has ended: nothing more is shown of it, and what was shown goes once its answer stands there. */
  | { readonly kind: "over" };

/** How an answer that is being written is shown: as the platform's own draft where it has one, or by editing a message. */
export type Live = "draft" | "edit";

/** What the gateway hands to a channel. */
export type ChannelHost = {
  readonly id: ChannelId;
  /** A private folder (0700) of this connection's own. */
  readonly stateDir: string;
  readonly log: Log;
  readonly clock: Clock;
  /**
   * Committed when it resolves; if it throws, do not acknowledge. Gives what a person who pressed a button is to be shown at
   * once, by the event's id.
   */
  accept(events: readonly InboundEvent[]): Promise<ReadonlyMap<string, string>>;
  /** What people can ask for with "/", for platforms that list it; in the order they should stand. */
  commands(language: Language): readonly CommandWords[];
  readonly state: ChannelState;
  /** Opens the journal; once at a time. */
  journal(): Journal;
  readonly blobs: BlobReader;
  readonly studio: Studio;
  readonly http: HttpMount;
  /** The connection cannot go on by itself: said in the status, never fatal to the process. */
  failed(error: Error): void;
  /** What `failed` told is over. */
  recovered(): void;
  /** Where the connection stands now, for the status, the page and the terminal; a channel without a standing of its own is silent. */
  stands(state: ConnectionState): void;
};

/** With a phone number (E.164, "+15551234567") a code is given that is typed on that phone; without, a QR code. */
export type PairingWish = { readonly phone?: string };

/** `text` and `code` are secrets: whoever has them links an account of their own. `until` is in epoch ms. */
export type PairingStep =
  | { readonly kind: "qr"; readonly text: string; readonly until: number }
  | { readonly kind: "code"; readonly code: string; readonly until: number }
  /** The phone has agreed; the platform still sets things up. */
  | { readonly kind: "agreed" }
  | { readonly kind: "linked" }
  /** One sentence: what happened and what to do. */
  | { readonly kind: "failed"; readonly why: string };

/** Where a connection stands that lasts, in what a person has to know. `why` is one sentence without a secret. */
export type ConnectionState =
  | { readonly is: "connecting" }
  | { readonly is: "open" }
  /** Somebody is to scan a code or type one, until then (epoch ms). */
  | { readonly is: "pairing"; readonly until: number }
  /** It tries again by itself then (epoch ms). */
  | { readonly is: "waiting"; readonly until: number; readonly why: string }
  | { readonly is: "unpaired"; readonly why: string }
  /** It does not go on by itself. */
  | { readonly is: "stopped"; readonly why: string };

/** `name` without the "/"; `where` says in which chats it makes sense. */
export type CommandWords = {
  readonly name: string;
  readonly about: string;
  readonly where: "everywhere" | "private";
};

/** Durable values of one connection. A batch is one transaction. Keys sort as UTF-8. */
export type ChannelState = {
  get(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** `undefined` deletes. From `until` (epoch ms) on the entries may be forgotten; without it they stay. */
  set(
    entries: Readonly<Record<string, string | undefined>>,
    options?: { readonly until?: number },
  ): Promise<void>;
  /** In key order, at most `limit`, after `after`. */
  list(
    prefix: string,
    options: { after?: string; limit: number },
  ): Promise<readonly (readonly [string, string])[]>;
  /**
   * The right to be this connection, for `ms`; undefined while another process has it. The holder of before cannot write
   * any more, however late it wakes.
   */
  lease(ms: number): Promise<Lease | undefined>;
};

export type Lease = {
  /** One more than the holder before had. */
  readonly epoch: number;
  /** As `ChannelState.set`, if the lease still holds: both in one transaction. @throws GatewayError "store.hold_lost". */
  set: ChannelState["set"];
  /** For `ms` from now. @throws GatewayError "store.hold_lost" where somebody else has taken it. */
  renew(ms: number): Promise<void>;
  /** Others may have it at once. */
  release(): Promise<void>;
};

/**
 * A small store of this connection's own on this machine, written synchronously: for what must be on the disk before a
 * library goes on. Keys sort as UTF-8.
 */
export type Journal = {
  /** One transaction, on the disk when it returns; `undefined` deletes. @throws GatewayError "store.unavailable". */
  write(entries: Readonly<Record<string, Uint8Array | undefined>>): void;
  read(key: string): Uint8Array | undefined;
  /** In key order. */
  list(prefix: string): readonly (readonly [string, Uint8Array])[];
  close(): void;
};

/** Makes the small pictures and curves that a platform wants beside a file. Never rejects: undefined where it cannot. */
export type Studio = {
  /** A JPEG of a picture or of a video's beginning, its longest side at most so many pixels; with the sides of the original. */
  thumbnail(media: MediaBlock, side: number): Promise<Thumbnail | undefined>;
  /** How loud a recording is, in so many steps of 0–100. */
  waveform(media: MediaBlock, steps: number): Promise<Uint8Array | undefined>;
};

export type Thumbnail = {
  readonly jpeg: Uint8Array;
  /** Pixels of the original. */
  readonly width: number;
  readonly height: number;
};

export type BlobReader = {
  /** @throws GatewayError "blob.missing". */
  open(ref: BlobRef): AsyncIterable<Uint8Array>;
};

export type HttpMount = {
  /** Where people and platforms reach the mounted paths: "http://127.0.0.1:7373". */
  readonly origin: string;
  /** Whether only this machine can reach it. */
  readonly loopback: boolean;
  /** Every request under `path` goes to the handler until it is unmounted; a second mount of a path is an error. */
  mount(path: string, handler: HttpHandler, options?: MountOptions): () => void;
};

export type HttpHandler = (request: Request) => Promise<Response>;

export type MountOptions = {
  /**
   * The handler itself tells who may come in: neither the password nor the guards against other sites' pages, names of
   * hosts among them, stand before it. For platforms that show a secret.
   */
  readonly ownDoor: true;
};
