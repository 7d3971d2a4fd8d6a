import type { MediaBlock } from "./blocks.ts";
import type { Clock } from "./clock.ts";
import type { ChatAddress } from "./identity.ts";
import type { MarkdownTree, Rendered } from "./tree.ts";
import type { KeepsakeHost, ChannelHost } from "./host.ts";

/** What `channels/<kind>/index.ts` exports by default: its settings, and how to open a connection. */
export type ChannelKind<Settings = never> = {
  readonly kind: string;
  /** A strict zod object; `config/` checks the operator's keys with it and writes the editor's schema from it. */
  readonly settings: SettingsSchema<Settings>;
  /** Where everybody who gets in is one person, that person's id: the owner, unless the operator names another. */
  readonly owner?: string;
  /** How this platform's ids of people look, for owner, allow and deny; `example` is shown to whoever wrote another thing. */
  readonly people?: { readonly pattern: RegExp; readonly example: string };
  /** Whether a connection with these settings is linked with an account by a code: `Channel.pair`. */
  links?(settings: Settings): boolean;
  /** What is known of a connection without opening it. */
  face(settings: Settings): ChannelFace;
  /**
   * Whether only one process at a time may have it open: one that asks the platform for what is new, or that people look
   * at. Others take in wherever the platform's calls arrive.
   */
  single(settings: Settings): boolean;
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
  /** To send a piece again has no second effect: an unknown outcome is tried again, until `send` says "send.unanswered". */
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
   * Shows a sign (an emoji) at a message of a person, or takes it back where there is none. Best effort, one try: never
   * throws.
   */
  react?(to: ChatAddress, ref: string, sign: string | undefined, signal: AbortSignal): Promise<void>;
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

/** What an answer is made for. */
export type ChannelFace = Pick<Channel, "limits" | "render" | "lengthOf">;

/** A connection as turns see it, in whatever process it is open: signs of life find their way there. */
export type ChannelFront = ChannelFace & Pick<Channel, "progress" | "taken" | "react">;

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
