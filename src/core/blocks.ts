/** What a message is made of, inbound and outbound. Plain JSON: what stands in a fixture is what runs and is stored. */
export type ContentBlock = TextBlock | MediaBlock;

/** Markdown, in both directions. */
export type TextBlock = { readonly type: "text"; readonly text: string };

export type MediaKind = "image" | "audio" | "video" | "file";

/** Names bytes in the blob store by the SHA-256 of what they are, in hex. */
export type BlobRef = `sha256:${string}`;

/** Media by reference; the bytes stay in the blob store until the model call or the send. */
export type MediaBlock = {
  readonly type: MediaKind;
  /** What the bytes are, not what somebody declared. */
  readonly mimeType: string;
  readonly blob: BlobRef;
  readonly bytes: number;
  /** Safe to show and to store; never a path. */
  readonly filename?: string;
  readonly caption?: string;
  readonly durationSeconds?: number;
  readonly width?: number;
  readonly height?: number;
  /** Where the agent's file tools find the original: "/uploads/report.pdf". */
  readonly path?: string;
  /** The text in it. */
  readonly extract?: Extract;
  /** Pictures that stand for it where the model sees pictures but not this: frames of a video, pages of a scan. */
  readonly stills?: readonly Still[];
  /** What was done to it, for the model: "first of 4 frames". */
  readonly note?: string;
  /** It belongs to the message that this one answers. */
  readonly quoted?: true;
  /** It was forwarded: others have said what is said in it. */
  readonly forwarded?: true;
  /** A few of its pages or seconds were asked for: they alone are shown, as `extract` and `stills`, not its own bytes. */
  readonly part?: true;
};

/** UTF-8 text taken out of a medium, itself a blob, so that no thread row holds file contents. */
export type Extract = {
  /** Read in a document, or made by a machine that listened. */
  readonly as: "text" | "transcript";
  /** What is put before the model: the whole text, or its head and tail with the cut said. */
  readonly blob: BlobRef;
  readonly bytes: number;
  /** Present where that is not all of it. */
  readonly whole?: {
    readonly blob: BlobRef;
    readonly bytes: number;
    readonly lines: number;
    /** Where the agent's file tools read on: "/uploads/report.pdf.txt". */
    readonly path?: string;
  };
};

/** A JPEG. `label` says where it was taken from: "0:02", "page 3". */
export type Still = {
  readonly blob: BlobRef;
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
  readonly label: string;
};

/** Media that a channel has announced and nobody has downloaded yet. */
export type Unfetched = {
  readonly type: "unfetched";
  readonly kind: MediaKind;
  /** Opaque to all but its channel; holds no token. */
  readonly ref: string;
  /** A small picture of it that the platform has made, named like `ref`. */
  readonly thumbnail?: string;
  readonly declared: {
    readonly mimeType?: string;
    readonly filename?: string;
    readonly bytes?: number;
    readonly durationSeconds?: number;
    /** What the platform calls it where that says more than the kind: "voice note", "video note". */
    readonly label?: string;
  };
};

/** How an attachment ended. Exactly one for each; the last four are told to the person as well. */
export type AttachmentOutcome =
  | "seen"
  | "extracted"
  | "shortened"
  | "transcribed"
  | "too_large"
  | "unsupported"
  | "unreadable"
  | "unavailable";
