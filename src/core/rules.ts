import type { AgentDefinition } from "./agent.ts";
import type { ChannelId } from "./identity.ts";

/** What the operator decided, as intake asks for it. Replaced as a whole when a changed file is taken up. */
export type Rules = {
  readonly channels: ReadonlyMap<ChannelId, ChannelRules>;
  readonly agents: ReadonlyMap<string, AgentDefinition>;
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
  /** What a stranger gets. */
  readonly strangers: "silent" | "polite";
  readonly agent: string;
  /** What people call the agent aloud: in a group, a voice note with such a word in it is addressed. */
  readonly names: readonly string[];
  readonly chats: Readonly<Record<string, ChatRules>>;
};

/** Resolution goes from the narrowest to the widest: sender in chat > topic > chat > channel. */
export type ChatRules = {
  readonly agent?: string;
  /** In groups: whom the agent answers. Default: "addressed". */
  readonly when?: When;
  readonly senders?: Readonly<Record<string, { readonly agent: string }>>;
  readonly topics?: Readonly<Record<string, { readonly agent?: string; readonly when?: When }>>;
};

export type When = "addressed" | "all" | "none";
