import type { PieceBody } from "../core/channel.ts";
import type { ConnectionShown } from "../core/standing.ts";
import type { InboundEvent } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { ChannelRules, Rules } from "../core/rules.ts";
import { type Language, say, type SentenceKey } from "../core/sentences.ts";
import type { Correction } from "../store/asides.ts";
import { addressOf, languageOfChat } from "../store/chats.ts";
import { insertPieces } from "../store/pieces.ts";
import type { Queries } from "../store/tables.ts";
import type { Granted } from "./admit.ts";

/** What follows a commit. Each may be lost: the sweep over the facts finds it again. */
export type Effects = {
  fetch(attachment: number): void;
  turn(chat: ChatId, at: number, agent: string): void;
  deliver(chat: ChatId): void;
  stop(chat: ChatId): void;
  /** All of a chat was forgotten, as wished for at that time: its files are to go, and whoever works on it stops. */
  forget(chat: ChatId, at: number): void;
  /** A message that a running turn may be of was edited or taken back. */
  correct(chat: ChatId, correction: Correction): void;
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
  /** The account's own person has taken over the chat: what was said then begins no turn. */
  readonly still: boolean;
};

export function rulesFor({ rules, channel }: Pick<Told, "rules" | "channel">): ChannelRules | undefined {
  return rules.channels.get(channel);
}

/** What people of the chat write in: a command alone has no words. */
export async function languageIn({ trx, chat }: Pick<About, "trx" | "chat">): Promise<Language> {
  return await languageOfChat(trx, chat);
}

/** A sentence of ours, to be sent to where the event came from. */
export async function answer(
  about: About,
  key: SentenceKey,
  values?: Readonly<Record<string, string | number>>,
): Promise<void> {
  const { trx, channel, chat, event, now, after, effects } = about;
  const to = addressOf(channel, event.place.chat, event.place.topic ?? "");
  // In a group an answer names the message it answers.
  const reply = event.place.kind === "group" && event.type === "message" ? { replyTo: event.ref } : {};
  const bodies = about.words(channel, say(key, await languageIn(about), values));
  await insertPieces(
    trx,
    bodies.map((body, seq) => ({ chat, to, turn: 0, seq, body, ...(seq === 0 ? reply : {}) })),
    now,
  );
  after.push(() => effects.deliver(chat));
}
