import type { TextBlock, Unfetched } from "./blocks.ts";

/** Everything that a platform can tell us. All are committed by `accept`; only `message` can start a turn. */
export type InboundEvent = MessageEvent | StopEvent;

/** Which conversation on the platform an event belongs to. */
export type Place = {
  readonly chat: string;
  readonly topic?: string;
  readonly kind: "private" | "group";
  readonly title?: string;
};

export type Sender = { readonly id: string; readonly name: string };

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
  /** What a reply to this message names on the platform. */
  readonly ref: string;
  readonly place: Place;
  readonly from: Sender;
  /** ISO 8601, by the platform's clock. */
  readonly sentAt: string;
  readonly content: readonly (TextBlock | Unfetched)[];
  /** Whether it is meant for us: always in a private chat; in a group by mention, reply or command. */
  readonly addressed: boolean;
  /** The sender's client has handed over everything that belongs to this intent: nothing is waited for. */
  readonly whole?: true;
  readonly quote?: Quote;
  readonly forward?: Forward;
  readonly albumId?: string;
};

/** A button or a platform's own sign that the running turn should end. */
export type StopEvent = {
  readonly type: "stop";
  readonly id: string;
  readonly place: Place;
  readonly from: Sender;
  readonly sentAt: string;
};
