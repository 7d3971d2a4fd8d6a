import type { Piece } from "../../src/core/channel.ts";
import type { ChannelState } from "../../src/core/host.ts";
import type { MediaBlock } from "../../src/core/blocks.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import { type Submission, type UploadedFile, fingerprint, titleOf, toMessage } from "./inbound.ts";

/** `last` is the number of the newest entry; entries are numbered from 1 without gaps. Times are ISO 8601. */
export type Conversation = {
  readonly id: string;
  readonly title: string;
  readonly at: string;
  readonly last: number;
};

export type Entry =
  | {
      readonly from: "you";
      readonly id: string;
      readonly at: string;
      readonly text: string;
      readonly files: readonly UploadedFile[];
    }
  | {
      readonly from: "agent";
      readonly piece: number;
      readonly at: string;
      /** Safe HTML, as `render` gave it. */
      readonly html?: string;
      readonly media: readonly { readonly media: MediaBlock; readonly caption?: string }[];
    };

export type Taken = { readonly kind: "taken"; readonly seq: number } | { readonly kind: "conflict" };

/** What is written before `accept` is called, so that a crash between the two can be made good. */
type Pending = {
  readonly submission: Submission;
  readonly event: MessageEvent;
  readonly fingerprint: string;
  /** `accept` threw and the page was told so: only the page may bring it up again. */
  readonly refused?: true;
};

type Known = { readonly seq: number; readonly fingerprint?: string };

const DIGITS = 10;
const LIST_AT_ONCE = 200;

/**
 * What was said, conversation by conversation, in the channel's durable state:
 *   chat/<chat>             the conversation         entry/<chat>/<seq>      one message
 *   known/<chat>/<key>      key → seq                pending/<chat>/<id>     being accepted
 * Writers of one conversation take turns, so numbers have no gaps and a question stands before its answer.
 */
export class Transcript {
  readonly #state: ChannelState;
  readonly #now: () => string;
  readonly #changed: (chat: string) => void;
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(state: ChannelState, now: () => string, changed: (chat: string) => void) {
    this.#state = state;
    this.#now = now;
    this.#changed = changed;
  }

  /** All conversations, the one that spoke last first. */
  async conversations(): Promise<readonly Conversation[]> {
    const found: Conversation[] = [];
    for await (const [, value] of this.#all("chat/")) found.push(JSON.parse(value) as Conversation); // written below
    return found.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  }

  async conversation(chat: string): Promise<Conversation | undefined> {
    return read(await this.#state.get([`chat/${chat}`]), `chat/${chat}`) as Conversation | undefined;
  }

  /** In order, those after number `after`, at most `limit`. */
  async entries(chat: string, after: number, limit: number): Promise<readonly (readonly [number, Entry])[]> {
    const prefix = `entry/${chat}/`;
    const rows = await this.#state.list(prefix, { after: prefix + digits(after), limit });
    return rows.map(([key, value]) => [Number(key.slice(prefix.length)), JSON.parse(value) as Entry]); // written below
  }

  async entry(chat: string, seq: number): Promise<Entry | undefined> {
    const key = `entry/${chat}/${digits(seq)}`;
    return read(await this.#state.get([key]), key) as Entry | undefined;
  }

  /**
   * Hands a person's message over and then shows it: what was not accepted is not shown, and what was accepted is, also
   * after a crash between the two (`recover`). The same submission again gives the entry that stands already.
   * `keep` makes its files durable, and is only called for what is not known yet.
   * @throws what `keep` and `accept` throw; the same submission may then be tried again.
   */
  take(
    submission: Submission,
    keep: () => Promise<void>,
    accept: (event: MessageEvent) => Promise<void>,
  ): Promise<Taken> {
    const { chat, id } = submission;
    return this.#inTurn(chat, async () => {
      const print = fingerprint(submission);
      const pendingKey = `pending/${chat}/${id}`;
      const rows = await this.#state.get([knownKey(chat, `you/${id}`), pendingKey]);
      const known = read(rows, knownKey(chat, `you/${id}`)) as Known | undefined;
      const earlier = read(rows, pendingKey) as Pending | undefined;
      if ((known ?? earlier ?? { fingerprint: print }).fingerprint !== print) return { kind: "conflict" };
      if (known) return { kind: "taken", seq: known.seq };
      // A second try repeats the first to the letter: with another time in it, it would be another event.
      const event = earlier?.event ?? toMessage(submission, this.#now());
      const pending: Pending = { submission, event, fingerprint: print };
      await keep();
      await this.#state.set({ [pendingKey]: JSON.stringify(pending) });
      try {
        await accept(event);
      } catch (error) {
        await this.#state.set({ [pendingKey]: JSON.stringify({ ...pending, refused: true }) });
        throw error;
      }
      return { kind: "taken", seq: await this.#show(pending) };
    });
  }

  /** Finishes what a crash cut short. `accept` knows repeats by their id. */
  async recover(accept: (event: MessageEvent) => Promise<void>): Promise<void> {
    for await (const [, value] of this.#all("pending/")) {
      const pending = JSON.parse(value) as Pending; // written by `take`
      if (pending.refused) continue;
      await accept(pending.event);
      await this.#inTurn(pending.submission.chat, () => this.#show(pending));
    }
  }

  /** Adds a piece of an answer; a piece that stands already is left as it is. Returns its number. */
  add(piece: Piece): Promise<number> {
    const { chat } = piece.to;
    return this.#inTurn(chat, async () => {
      const key = knownKey(chat, `piece/${piece.id}`);
      const known = read(await this.#state.get([key]), key) as Known | undefined;
      return known?.seq ?? this.#append(chat, toEntry(piece, this.#now()), "Conversation", { [key]: {} });
    });
  }

  #show({ submission, event, fingerprint: print }: Pending): Promise<number> {
    const { chat, id, text, files } = submission;
    const entry: Entry = { from: "you", id, at: event.sentAt, text, files };
    return this.#append(
      chat,
      entry,
      titleOf(submission),
      { [knownKey(chat, `you/${id}`)]: { fingerprint: print } },
      `pending/${chat}/${id}`,
    );
  }

  async #append(
    chat: string,
    entry: Entry,
    title: string,
    known: Readonly<Record<string, Omit<Known, "seq">>>,
    done?: string,
  ): Promise<number> {
    const before = await this.conversation(chat);
    const seq = (before?.last ?? 0) + 1;
    const after: Conversation = { id: chat, title: before?.title ?? title, at: entry.at, last: seq };
    await this.#state.set({
      [`chat/${chat}`]: JSON.stringify(after),
      [`entry/${chat}/${digits(seq)}`]: JSON.stringify(entry),
      ...Object.fromEntries(
        Object.entries(known).map(([key, value]) => [key, JSON.stringify({ ...value, seq })]),
      ),
      ...(done === undefined ? {} : { [done]: undefined }),
    });
    this.#changed(chat);
    return seq;
  }

  async *#all(prefix: string): AsyncGenerator<readonly [string, string]> {
    let after: string | undefined;
    for (;;) {
      const rows = await this.#state.list(prefix, {
        limit: LIST_AT_ONCE,
        ...(after === undefined ? {} : { after }),
      });
      yield* rows;
      after = rows.at(-1)?.[0];
      if (rows.length < LIST_AT_ONCE) return;
    }
  }

  async #inTurn<T>(chat: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#turns.get(chat) ?? Promise.resolve()).then(work, work);
    this.#turns.set(chat, mine);
    try {
      return await mine;
    } finally {
      // Only conversations with work are kept.
      if (this.#turns.get(chat) === mine) this.#turns.delete(chat);
    }
  }
}

function toEntry(piece: Piece, at: string): Entry {
  const { body } = piece;
  switch (body.kind) {
    case "text":
      return { from: "agent", piece: piece.id, at, html: body.rendered.text, media: [] };
    case "media":
      return { from: "agent", piece: piece.id, at, media: [shown(body)] };
    case "album":
      return { from: "agent", piece: piece.id, at, media: body.items.map(shown) };
  }
}

function shown(item: { readonly media: MediaBlock; readonly caption?: { readonly text: string } }): {
  readonly media: MediaBlock;
  readonly caption?: string;
} {
  return { media: item.media, ...(item.caption ? { caption: item.caption.text } : {}) };
}

function knownKey(chat: string, key: string): string {
  return `known/${chat}/${key}`;
}

/** Numbers that sort as text. */
function digits(seq: number): string {
  return String(seq).padStart(DIGITS, "0");
}

/** The value under a key, parsed; only this file writes there, so the caller knows its shape. */
function read(rows: ReadonlyMap<string, string>, key: string): unknown {
  const value = rows.get(key);
  return value === undefined ? undefined : JSON.parse(value);
}
