import type { TextBlock, Unfetched } from "./blocks.ts";

/**
 * Everything that a platform can tell us. All are committed by `accept`. A message starts a turn; a choice, an edit and a
 * reaction may lead to one, as the rules of the connection say; nothing else does.
 */
export type InboundEvent =
  | MessageEvent
  | EditEvent
  | DeleteEvent
  | ReactionEvent
  | ChoiceEvent
  | StopEvent
  | MembershipEvent
  | ChatMovedEvent
  | DeliveryEvent;

/** Which conversation on the platform an event belongs to. */
export type Place = {
  readonly chat: string;
  readonly topic?: string;
  readonly kind: "private" | "group";
  readonly title?: string;
  /** Other ids under which the operator may have written rules for this chat: a phone number. */
  readonly also?: readonly string[];
};

/** `id` stays for ever; `also` are other ids of the same person that the platform knows, for owner, allow and deny. */
export type Sender = { readonly id: string; readonly name: string; readonly also?: readonly string[] };

/** The part of an earlier message that this one answers. Untrusted, like all text of others. */
export type Quote = {
  readonly text: string;
  readonly from?: string;
  readonly ref?: string;
  /** The media of that message, to be fetched with this one's own. */
  readonly media?: readonly Unfetched[];
};

/** Who said first what this message hands on. */
export type Forward = {
  readonly from: string;
  /** Who signed it, where it comes from a channel or a group. */
  readonly signature?: string;
  /** When it was said first, ISO 8601. */
  readonly sentAt?: string;
};

export type MessageEvent = {
  readonly type: "message";
  /** Idempotency key, built by the channel, unique within the chat. The same key with another payload is a new event. */
  readonly id: string;
  /** The id alone tells repeats: whatever else has changed since it was handed over first is no news. */
  readonly unique?: true;
  /** What a reply to this message names on the platform. */
  readonly ref: string;
  readonly place: Place;
  readonly from: Sender;
  /** ISO 8601, by the platform's clock; 1970 where it gives no time. */
  readonly sentAt: string;
  readonly content: readonly (TextBlock | Unfetched)[];
  /** Whether it is meant for us: always in a private chat; in a group by mention, reply or command. */
  readonly addressed: boolean;
  /** The sender's client has handed over everything that belongs to this intent: nothing is waited for. */
  readonly whole?: true;
  /**
   * Whoever the account belongs to wrote it by hand, on another device, to somebody else: never a turn nor a command.
   * The agent knows it with the next turn, and keeps still there for as long as the rules say.
   */
  readonly own?: true;
  readonly quote?: Quote;
  readonly forward?: Forward;
  readonly albumId?: string;
};

/**
 * What a message says now: all of it, not the difference. `ref` is that of the message; `id` differs from edit to edit.
 * Also sent where nothing that can be seen has changed, which intake recognises.
 */
export type EditEvent = Omit<MessageEvent, "type" | "whole"> & { readonly type: "edited" };

/** Messages that were taken back by whoever sent them. */
export type DeleteEvent = {
  readonly type: "deleted";
  readonly id: string;
  readonly place: Place;
  /** As `MessageEvent.ref`. */
  readonly refs: readonly string[];
  /** ISO 8601. */
  readonly sentAt: string;
};

/** What somebody thinks of a message. The platform may not say in which topic it stands: the message knows. */
export type ReactionEvent = {
  readonly type: "reaction";
  readonly id: string;
  readonly place: Place;
  /** Of the message that was reacted to, ours or another's. */
  readonly ref: string;
  readonly from: Sender;
  readonly sentAt: string;
  /** Emoji, or names of custom ones, that stand there now and did not before; and the other way round. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
};

/** A pressed button of a question that we asked. */
export type ChoiceEvent = {
  readonly type: "choice";
  readonly id: string;
  readonly place: Place;
  readonly from: Sender;
  readonly sentAt: string;
  /** What the button carries: `Choice.key`. */
  readonly key: string;
  /** Of the message with the buttons; absent where the platform does not show it any more. */
  readonly ref?: string;
};

/** A button or a platform's own sign that the running turn should end. */
export type StopEvent = {
  readonly type: "stop";
  readonly id: string;
  readonly place: Place;
  readonly from: Sender;
  readonly sentAt: string;
};

/** Whether we can write to a chat: not any more (blocked, removed, muted), or again. */
export type MembershipEvent = {
  readonly type: "membership";
  readonly id: string;
  readonly place: Place;
  readonly sentAt: string;
  readonly now: "gone" | "here";
};

/** The platform has given a chat another id; topics keep theirs. Told of more than once, in any order. */
export type ChatMovedEvent = {
  readonly type: "chatMoved";
  readonly id: string;
  readonly from: string;
  readonly to: string;
};

/** What the platform tells of a message of ours after it was accepted. Told of more than once, in any order. */
export type DeliveryEvent = {
  readonly type: "delivery";
  readonly id: string;
  /** The platform's id of the chat, as in `ChatAddress.chat`. */
  readonly chat: string;
  /** The id that `send` gave. */
  readonly ref: string;
  readonly status: "delivered" | "read" | "refused";
  /** Of "refused": one sentence, without what the message says. */
  readonly why?: string;
  readonly sentAt: string;
};

/**
 * Nothing that a platform tells: a schedule was due, and the agent is to do what stands there though nobody has written.
 */
export type ScheduledEvent = {
  readonly type: "scheduled";
  /** "schedule-<number>@<when it was due, epoch ms>": one time of a schedule is done once. */
  readonly id: string;
  readonly place: Place;
  /** Nobody: its id and its name are "". */
  readonly from: Sender;
  /** When it was due, ISO 8601. */
  readonly sentAt: string;
  readonly schedule: { readonly number: number; readonly name: string; readonly by: "operator" | "agent" };
  readonly prompt: string;
  /** IANA, in which it is told when it was due. */
  readonly timeZone: string;
  /** How often it was due since, and was not run. */
  readonly missed: number;
  /** The day, there, whose unasked messages its answer is counted with. */
  readonly day: string;
};
