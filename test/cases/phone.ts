import type { MediaForm } from "../../src/core/channel.ts";
import type { Mark } from "../../src/core/tree.ts";

/** A message as a person sees it: a text, or one medium with what stands below it. */
export type Shown = {
  readonly text: string;
  readonly marks: readonly Mark[];
  readonly media?: ShownMedia;
};

export type ShownMedia = {
  readonly bytes: Buffer;
  readonly as: MediaForm;
  /** Empty where the platform hands none over. */
  readonly name: string;
};

/** A file as somebody sends it. */
export type SentFile = {
  readonly bytes: Buffer;
  /** In the collection's words: "photo", "document", "voice", "audio (ptt)". */
  readonly sentAs: string;
  readonly filename?: string;
  readonly mimeType?: string;
  readonly caption?: string;
  readonly duration?: number;
};

/** A person's end of their private chat with Perch. */
export type Phone = {
  /** What the person is called in Perch's rules, and their chat. */
  readonly chat: string;
  write(words: string): Promise<void>;
  send(file: SentFile): Promise<void>;
  /** What Perch has sent, in order. */
  shown(): readonly Shown[];
  /** Resolves as soon as a text is shown, with all that came before it. */
  untilShown(text: string): Promise<void>;
};
