import type { AgentDefinition } from "./agent.ts";
import type { Live } from "./channel.ts";
import type { ChannelId } from "./identity.ts";

/** What the operator decided, as intake asks for it. Replaced as a whole when a changed file is taken up. */
export type Rules = {
  readonly channels: ReadonlyMap<ChannelId, ChannelRules>;
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  /** IANA, in which agents tell the time; this machine's without it. */
  readonly timeZone?: string;
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
  /** How long the agent keeps still in a chat after the account's own person wrote there by hand; 0 for not at all. */
  readonly pauseMs: number;
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
  readonly context?: number;
  readonly live?: Live | "off";
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
