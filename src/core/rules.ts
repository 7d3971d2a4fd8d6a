import type { AgentDefinition } from "./agent.ts";
import type { Budget } from "./budget.ts";
import type { Live } from "./channel.ts";
import type { ChannelId } from "./identity.ts";
import type { QuietHours, ScheduleRule } from "./schedules.ts";

/** What the operator decided, as intake asks for it. Replaced as a whole when a changed file is taken up. */
export type Rules = {
  readonly channels: ReadonlyMap<ChannelId, ChannelRules>;
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  /** IANA, in which agents tell the time; this machine's without it. */
  readonly timeZone?: string;
  /** What the operator wants done at a time, by name. */
  readonly schedules?: ReadonlyMap<string, ScheduleRule>;
  /** What all may use together; and at which part of any budget, in percent, its people are warned. */
  readonly budgets?: { readonly total?: Budget; readonly warnPercent: number };
};

/** Who may talk in a connection, and who answers. People are the platform's ids, never names. */
export type ChannelRules = {
  /** Closed by default: without an owner or an allow list nobody is answered. */
  readonly owner?: string;
  readonly allow: readonly string[];
  /** Wins over every grant, also over those made in chat. */
  readonly deny: readonly string[];
  /** Everybody may talk; only with the operator's explicit acknowledgement. */
  readonly open: boolean;
  /** How many turns a person gets in an hour who is let in by nothing but `open`, or `allow: everyone` of a chat. */
  readonly turnsPerHour: number;
  /** What each person, and each chat, may use here. */
  readonly budgets?: { readonly person?: Budget; readonly chat?: Budget };
  /** What a stranger gets: nothing, a sentence, or a code that the owner can let them in with. */
  readonly strangers: "silent" | "polite" | "pair";
  readonly agent: string;
  /** What people call the agent: in a group, a message or a voice note with such a word in it is addressed. */
  readonly names: readonly string[];
  readonly edits: EditRules;
  /** What a reaction to a message of ours leads to. */
  readonly reactions: "ignore" | "note" | "turn";
  /** How many messages of a group that were not for us the agent is shown when it is asked; 0 for none. */
  readonly context: number;
  /** What becomes of messages that are old when they arrive, because we were away, in ms since they were sent. */
  readonly away: { readonly answerMs: number; readonly digestMs: number };
  readonly gather: GatherRules;
  readonly during: During;
  /** How many intents may wait in a chat. */
  readonly queueLimit: number;
  /** What whoever waits is shown: a reaction to their message, a line below it, or nothing. */
  readonly waitingSign: WaitingSign;
  /** How long the agent keeps still in a chat after the account's own person wrote there by hand; 0 for not at all. */
  readonly pauseMs: number;
  /** When nothing is said that nobody has asked for; at any time without it. */
  readonly quietHours?: QuietHours;
  /** How much a chat is told on one day that nobody there has asked for. */
  readonly unaskedPerDay: number;
  /** IANA, of these and of schedules that are made there; that of all agents without it. */
  readonly timeZone?: string;
  /** Absent where the channel decides. */
  readonly live?: Live | "off";
  /** What people may ask the agent for by "/name", beside our own commands: name and what it is for. */
  readonly commands: Readonly<Record<string, string>>;
  readonly chats: Readonly<Record<string, ChatRules>>;
};

/** Resolution goes from the narrowest to the widest: sender in chat > topic > chat > channel. */
export type ChatRules = {
  readonly agent?: string;
  /** Who may talk in this chat, besides those who may everywhere. */
  readonly allow?: readonly string[] | "everyone";
  readonly budget?: Budget;
  readonly context?: number;
  readonly live?: Live | "off";
  readonly gather?: Partial<GatherRules>;
  readonly during?: During;
  readonly queueLimit?: number;
  readonly waitingSign?: WaitingSign;
  /** "none" where those of the channel do not hold. */
  readonly quietHours?: QuietHours | "none";
  readonly unaskedPerDay?: number;
  readonly timeZone?: string;
  /** In groups: whom the agent answers. Default: "addressed". */
  readonly when?: When;
  readonly senders?: Readonly<Record<string, { readonly agent: string }>>;
  readonly topics?: Readonly<Record<string, { readonly agent?: string; readonly when?: When }>>;
};

/** What becomes of an edit once the turn of its message has begun; before, the new text simply takes the old one's place. */
export type EditRules = {
  /** Shown to the agent before its next step, or like an edit of what is answered already. */
  readonly running: "steer" | "wait";
  /** The agent is told with the next message, or answers anew, in the place of its earlier answer where that can be. */
  readonly answered: "note" | "rerun";
};

export type When = "addressed" | "all" | "none";

/** How long the rest of one intent may take to arrive after each of its messages, in ms from the commit, and its bounds. */
export type GatherRules = {
  readonly textMs: number;
  /** After a text so long that a client may have split it. */
  readonly fragmentMs: number;
  readonly mediaMs: number;
  readonly albumMs: number;
  readonly forwardMs: number;
  /** However it goes on, a person waits no longer than this for the turn to begin. */
  readonly longestMs: number;
  readonly messages: number;
  /** UTF-16 units of text. */
  readonly characters: number;
};

export type WaitingSign = "reaction" | "line" | "off";

/**
 * What becomes of a message that comes while a turn runs: it is shown to the agent before its next step, waits for a turn
 * of its own, waits together with what its person has said since, or ends the running turn and is next.
 */
export type During = (typeof DURINGS)[number];
export const DURINGS = ["steer", "queue", "collect", "interrupt"] as const;
