import type { Period } from "./calendar.ts";
import type { ChannelId, ChatId } from "./identity.ts";
import type { ModelUse } from "./usage.ts";

/** What may be used, each in its own part of the calendar; what is absent has no bound, and 0 is for nobody. */
export type Budget = {
  readonly turnsPerHour?: number;
  readonly tokensPerDay?: number;
  /** In the currency of the agents' prices. */
  readonly costPerMonth?: number;
  /** Of sound and video that is listened to or looked at. */
  readonly mediaMinutesPerDay?: number;
};

/** Whose budget it is: of one person, one chat, one agent, or of all together. */
export type Scope = "person" | "chat" | "agent" | "total";

export type Measure = "turns" | "tokens" | "cost" | "media";

/** One thing that is bounded, of one of them. */
export type Bound = {
  readonly scope: Scope;
  /** Of people and chats; "" otherwise. */
  readonly channel: ChannelId;
  /** The platform's id of a person, the number of a chat, the name of an agent; "" for all together. */
  readonly subject: string;
  readonly measure: Measure;
  /** Turns, tokens, millionths of the currency, or seconds. */
  readonly limit: number;
  /** It is counted, and stops nobody: the owner's own. */
  readonly free?: true;
};

/** A bound in the part of the calendar that is now. */
export type BoundNow = Bound & Period;

/** A budget that is used up. */
export type SpentBudget = Pick<BoundNow, "scope" | "subject" | "measure" | "limit" | "from" | "until">;

/** Who is the reason for what is used. */
export type Payer = {
  readonly channel: ChannelId;
  readonly chat: ChatId;
  /** The platform's id of the chat, as the operator writes rules for it. */
  readonly place: string;
  /** The platform's id of the person; absent where it is for a whole group. */
  readonly person?: string;
  /** The owner of the connection: counted, and not stopped by what bounds people and chats. */
  readonly owner?: boolean;
  readonly agent: string;
};

/**
 * What is asked before each request to a model, and told after it. A request that nobody tells the end of stays counted by
 * the guess: whatever ends the process, nothing is free.
 */
export type Allowance = {
  /** Counts a request that is about to be sent. @throws GatewayError "budget.spent"; it must not be sent then. */
  reserve(guess: ModelUse): Promise<Reserved>;
};

export type Reserved = {
  /** What it took in the end; all zeros for nothing. Never rejects. */
  settle(use: Pick<ModelUse, "inputTokens" | "outputTokens" | "costMicros">): Promise<void>;
};

/** Asked before a recording is listened to, or looked at. */
export type MediaMinutes = {
  /** The budget that so many seconds more do not fit into; undefined where they fit. */
  fits(seconds: number): Promise<MinutesLeft | undefined>;
  /** The same, and where they fit they count as used from now on. */
  take(seconds: number): Promise<MinutesLeft | undefined>;
};

/** A budget of media, and how many seconds of it are left. */
export type MinutesLeft = Pick<Bound, "scope" | "limit"> & { readonly left: number };
