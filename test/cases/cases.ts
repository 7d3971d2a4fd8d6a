import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mark } from "../../src/core/tree.ts";
import type { Platform } from "./world.ts";

/** A case of the collection, as it stands there. */
export type Case = {
  readonly id: string;
  readonly area: string;
  readonly symptom: string;
  readonly input: Input;
  readonly expected: Expected;
};

export type Input = {
  readonly platform?: string;
  // Inbound: files by their path in the collection, and what the platform says of them.
  readonly file?: string;
  readonly files?: readonly string[];
  readonly inline_file?: string;
  readonly filename?: string;
  readonly filenames?: readonly string[];
  readonly declared_mime?: string;
  readonly caption?: string;
  readonly sent_as?: string;
  readonly duration?: number;
  readonly update?: object;
  // Outbound: what the model answers.
  readonly text?: string;
  readonly model_reply?: Words;
  readonly setup?: string;
  readonly root_config?: string;
};

/** Long strings are written short. */
export type Words =
  | string
  | { readonly repeat: readonly [Words, number] }
  | { readonly concat: readonly Words[] };

export type Expected = {
  readonly result: "content" | "notice" | "either" | "send" | "no_send" | "state";
  readonly options?: readonly Expected[];
  readonly blocks?: readonly ExpectedBlock[];
  /** The kind of notice; null where there must be none. */
  readonly error?: string | null;
  readonly error_also?: readonly string[];
  readonly or_error?: string;
  readonly block_count?: number;
  readonly upload_name_ends?: string;
  readonly media?: readonly string[];
  readonly may_also_send?: readonly string[];
  readonly may_send_nothing?: boolean;
  readonly text_has?: string | readonly string[];
  readonly text_lacks?: readonly string[];
  readonly exact?: string;
};

export type ExpectedBlock = {
  readonly type: "text" | "image";
  readonly mime?: string | readonly string[];
  readonly max_base64?: number;
  readonly frames?: number;
  readonly channels?: number;
  readonly has?: readonly string[];
  readonly lacks?: readonly string[];
  readonly max_bytes?: number;
  readonly truncation_mark?: boolean;
  readonly well_formed?: boolean;
};

export type MarkdownCase = {
  readonly name: string;
  readonly markdown: string;
  readonly expected_plain_text: string;
  readonly server_entities: readonly (Mark & { readonly text: string })[];
};

/** Where each case of the collection belongs: the work that has to make it pass, by id. */
export const COLLECTION = fixture("collection.json") as Readonly<Record<string, string>>;

/** What is said about media and text, without the cases of references in answers. */
const MEDIA = fixture("media.json") as readonly Case[];

/** References in answers: which are media, and which files may be sent. */
const REFERENCES = fixture("outbound-references.json") as readonly Case[];

/** Markdown and what Telegram's server keeps of it. */
export const MARKDOWN = fixture("telegram-markdown.json") as readonly MarkdownCase[];

const isOutbound = ({ input }: Case): boolean => input.text !== undefined || input.model_reply !== undefined;

export const INBOUND = MEDIA.filter((one) => !isOutbound(one));
export const OUTBOUND = [...REFERENCES, ...MEDIA.filter(isOutbound)];

/** What a case says of no platform in particular holds on each. */
export function platformsOf({ input }: Case): readonly Platform[] {
  const named = (["telegram", "whatsapp"] as const).filter((one) => input.platform?.includes(one));
  return named.length > 0 ? named : ["telegram", "whatsapp"];
}

export function inFull(words: Words): string {
  if (typeof words === "string") return words;
  if ("concat" in words) return words.concat.map(inFull).join("");
  const [one, times] = words.repeat;
  return inFull(one).repeat(times);
}

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, "../fixtures/cases", name), "utf8"));
}
