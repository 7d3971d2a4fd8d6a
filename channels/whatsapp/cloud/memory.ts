import type { Unfetched } from "../../../src/core/blocks.ts";
import type { ChannelState } from "../../../src/core/host.ts";
import type { InboundEvent, Quote } from "../../../src/core/events.ts";
import { shortened } from "../../../src/core/words.ts";
import type { Entries } from "./contacts.ts";
import { inWords } from "./content.ts";
import type { Known } from "./inbound.ts";
import type { CloudMessage } from "./payload.ts";

/** How long a message can be quoted with its words. */
export const REMEMBERED_MS = 14 * 24 * 3_600_000;

/** UTF-16 units of a message that are kept to be quoted. */
const QUOTED_LENGTH = 1_000;

/**
 * What was said, by message id, and which sign stands where: WhatsApp names a quoted message by its id alone, and of a
 * reaction only what is there now. What was once made of a message is kept with it, so that a repeat is the same event.
 */
export type Memory = Pick<Known, "quote" | "signBefore"> & {
  /** Remembers what was made of a message; those behind it in the batch may quote it. */
  note(message: CloudMessage, event: InboundEvent): void;
  /** To be stored before the events are committed, for REMEMBERED_MS. */
  readonly entries: Entries;
};

type Said = {
  readonly text: string;
  readonly from?: string;
  readonly media?: readonly Unfetched[];
  /** What it was found to quote itself. */
  readonly quote?: Quote;
};

type Sign = { readonly by: string; readonly sign: string; readonly before: string };

export async function remember(
  state: ChannelState,
  messages: readonly CloudMessage[],
  keys: readonly string[],
) {
  const refs = messages.flatMap(({ id, context }) => [id, context?.id]).filter((ref) => ref !== undefined);
  const marked = messages.flatMap(({ reaction }) => reaction?.message_id ?? []);
  const asked = [
    ...new Set(refs.map(saidEntry)),
    ...new Set(marked.flatMap((ref) => keys.map((key) => signEntry(key, ref)))),
  ];
  const kept = asked.length === 0 ? new Map<string, string>() : new Map(await state.get(asked));
  return memoryOf(kept);
}

/** What we have said ourselves. */
export function ownEntry(ref: string, text: string): Entries {
  return { [saidEntry(ref)]: JSON.stringify({ text: shortened(text, QUOTED_LENGTH) } satisfies Said) };
}

function memoryOf(kept: Map<string, string>): Memory {
  const entries: Record<string, string> = {};
  const read = (entry: string): unknown => JSON.parse(kept.get(entry) ?? "null");
  const said = (ref: string): Said | null => read(saidEntry(ref)) as Said | null; // written below
  const signAt = (key: string, ref: string): Sign | null => read(signEntry(key, ref)) as Sign | null; // and this
  const write = (entry: string, value: Said | Sign): void => {
    const text = JSON.stringify(value);
    if (kept.get(entry) === text) return;
    kept.set(entry, text);
    entries[entry] = text;
  };
  return {
    entries,
    quote({ id = "", context }) {
      const ref = context?.id;
      if (ref === undefined) return undefined;
      const before = said(id);
      if (before) return before.quote;
      const quoted = said(ref);
      if (!quoted) return { text: "[a message that is not known any more]", ref };
      const { text, from, media } = quoted;
      return { text, ref, ...(from === undefined ? {} : { from }), ...(media ? { media } : {}) };
    },
    signBefore(key, { id = "", reaction }) {
      const stands = signAt(key, reaction?.message_id ?? "");
      if (!stands) return "";
      return stands.by === id ? stands.before : stands.sign;
    },
    note(message, event) {
      if (event.type === "message") write(saidEntry(event.ref), saidOf(event));
      if (event.type !== "reaction") return;
      const { ref, from } = event;
      const before = this.signBefore(from.id, message);
      write(signEntry(from.id, ref), { by: event.id, sign: message.reaction?.emoji ?? "", before });
    },
  };
}

function saidOf({ content, from, quote }: Extract<InboundEvent, { type: "message" }>): Said {
  const media = content.filter((part) => part.type === "unfetched");
  return {
    text: shortened(inWords(content), QUOTED_LENGTH),
    from: from.name,
    ...(media.length > 0 ? { media } : {}),
    ...(quote ? { quote } : {}),
  };
}

export function saidEntry(ref: string): string {
  return `said/${ref}`;
}

function signEntry(key: string, ref: string): string {
  return `sign/${key}/${ref}`;
}
