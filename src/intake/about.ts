import type { PieceBody } from "../core/channel.ts";
import type { ConnectionShown } from "../core/standing.ts";
import type { InboundEvent } from "../core/events.ts";
import type { ChannelId, ChatAddress, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { ChannelRules, Rules, WaitingSign } from "../core/rules.ts";
import { type Language, say, type SentenceKey } from "../core/sentences.ts";
import type { Correction } from "../store/asides.ts";
import { addressOf, languageOfChat } from "../store/chats.ts";
import type { Pause } from "../store/pauses.ts";
import { insertPieces } from "../store/pieces.ts";
import type { Queries } from "../store/tables.ts";
import { type Granted, standingOf } from "./admit.ts";

/** What follows a commit. Each may be lost: the sweep over the facts finds it again. */
export type Effects = {
  fetch(attachment: number): void;
  turn(chat: ChatId, at: number, agent: string): void;
  deliver(chat: ChatId): void;
  stop(chat: ChatId): void;
  /** The agent may speak there again: what was held back until then goes on. */
  resumed(chat: ChatId): void;
  /** All of a chat was forgotten, as wished for at that time: its files are to go, and whoever works on it stops. */
  forget(chat: ChatId, at: number): void;
  /** The running turn of a chat is to end for what was said meanwhile. */
  interrupt(chat: ChatId): void;
  /** A message waits: whoever sent it is to be shown that. */
  sign(waiting: SignedMessage): void;
  /** Messages under a sign of ours do not wait any more, by their `ref`s. */
  unsign(to: ChatAddress, refs: readonly string[]): void;
  /** A message that a running turn may be of was edited or taken back. */
  correct(chat: ChatId, correction: Correction): void;
};

/** A message that waits. */
export type SignedMessage = {
  readonly chat: ChatId;
  readonly row: number;
  readonly to: ChatAddress;
  readonly ref: string;
  readonly as: Exclude<WaitingSign, "off">;
  /** From when on (epoch ms) it is worth a sign. */
  readonly at: number;
};

/** What a connection makes of a sentence of ours; nothing while it is not open. */
export type Words = (channel: ChannelId, text: string) => readonly PieceBody[];

/** Where each connection stands now, for the owner. */
export type Connections = () => readonly ConnectionShown[];

/** An event that somebody caused, somewhere. */
export type Placed = Extract<InboundEvent, { readonly place: unknown; readonly from: unknown }>;

/** What is known of an event while it is taken in, and the transaction that it is taken in by. */
export type Told<Event extends InboundEvent = InboundEvent> = {
  readonly trx: Queries;
  readonly channel: ChannelId;
  readonly event: Event;
  readonly now: number;
  readonly rules: Rules;
  readonly effects: Effects;
  readonly words: Words;
  readonly connections: Connections;
  readonly log: Log;
  /** What is done once all is committed. */
  readonly after: (() => void)[];
};

/** The same of what somebody caused somewhere. The rules hold for the chat by each of its ids. */
export type About<Event extends Placed = Placed> = Told<Event> & {
  readonly chat: ChatId;
  /** What was granted in chat to whoever caused it. */
  readonly granted: Granted;
  /** When this stranger was last told why they get no answer; epoch ms, 0 for never, and no end where they were refused. */
  readonly toldAt: number;
  /** By whom the agent is kept still in the chat, if at all: what was said then begins no turn. */
  readonly still: Pause["by"] | undefined;
};

export function rulesFor({ rules, channel }: Pick<Told, "rules" | "channel">): ChannelRules | undefined {
  return rules.channels.get(channel);
}

/** What people of the chat write in: a command alone has no words. */
export async function languageIn({ trx, chat }: Pick<About, "trx" | "chat">): Promise<Language> {
  return await languageOfChat(trx, chat);
}

export function isOwner(about: About): boolean {
  const rules = rulesFor(about);
  return rules !== undefined && standingOf(about.event, rules, about.granted) === "owner";
}

/** Where the event came from. */
export function addressIn({ channel, event }: Pick<About, "channel" | "event">): ChatAddress {
  return addressOf(channel, event.place.chat, event.place.topic ?? "");
}

/** A sentence of ours, to be sent to where the event came from. In a group an answer names the message it answers. */
export async function answer(
  about: About,
  key: SentenceKey,
  values?: Readonly<Record<string, string | number>>,
  { names = about.event.place.kind === "group" }: { readonly names?: boolean } = {},
): Promise<void> {
  const { trx, channel, chat, event, now, after, effects } = about;
  const to = addressIn(about);
  const reply = names && event.type === "message" ? { replyTo: event.ref } : {};
  const bodies = about.words(channel, say(key, await languageIn(about), values));
  await insertPieces(
    trx,
    bodies.map((body, seq) => ({ chat, to, turn: 0, seq, body, ...(seq === 0 ? reply : {}) })),
    now,
  );
  after.push(() => effects.deliver(chat));
}
