import type { Generated } from "kysely";
import type { ChatId } from "../core/identity.ts";

/** What is true of chats, messages, turns and pieces. Times are epoch ms; JSON and lists are text; booleans are 0 or 1. */
export interface FactTables {
  chat: ChatRow;
  address: AddressRow;
  thread_count: ThreadCountRow;
  inbox: InboxRow;
  attachment: AttachmentRow;
  turn: TurnRow;
  piece: PieceRow;
  person: PersonRow;
  speaker: SpeakerRow;
  claim_code: ClaimCodeRow;
  channel_state: ChannelStateRow;
}

/** A conversation and the hold on it. `owner` is "" and `until` 0 while nobody holds it. */
export interface ChatRow {
  id: Generated<ChatId>;
  channel: string;
  kind: "private" | "group";
  owner: string;
  epoch: number;
  until: number;
}

/** Where a platform finds a chat; `topic` is "" without one. */
export interface AddressRow {
  channel: string;
  chat: string;
  topic: string;
  chat_id: ChatId;
}

/** Which thread of an agent is the current one in a chat. */
export interface ThreadCountRow {
  chat_id: ChatId;
  agent: string;
  n: number;
}

/** A "listening" message becomes a turn only if the agent is called by name in what is said in it. */
export type InboxState = "listening" | "waiting" | "claimed" | "consumed" | "refused" | "withdrawn" | "dead";

export interface InboxRow {
  id: Generated<number>;
  channel: string;
  chat_id: ChatId;
  event_key: string;
  payload_hash: string;
  /** The event as JSON; "" once it is consumed, so that a message is kept in its thread alone. */
  payload: string;
  sender: string;
  /** What a reply names on the platform. */
  ref: string;
  state: InboxState;
  /** Why it was refused, withdrawn or set aside; "" otherwise. */
  why: string;
  agent: string;
  thread: string;
  /** The id of the first message of the intent that this one belongs to; 0 for what starts no turn. */
  intent: number;
  album: string;
  received_at: number;
  /** When the window of its intent closes. */
  due_at: number;
  claims: number;
  turn_id: number;
  ended_at: number;
  /** One JSON object a line: each decision that was taken about it. */
  trace: string;
}

export interface AttachmentRow {
  id: Generated<number>;
  inbox_id: number;
  /** Its place in the event's content; -1, -2, … in what the event quotes. */
  seq: number;
  chat_id: ChatId;
  channel: string;
  state: "waiting" | "done";
  attempts: number;
  /** The blocks it became, as JSON; "" while it waits and after its message is consumed. */
  blocks: string;
  outcome: string;
  /** The key of the sentence that says why it is no use; "" where it is some. */
  notice: string;
  /** What stands in the places of that sentence, as JSON; "" once its message is consumed. */
  notice_values: string;
}

export type TurnState = "running" | "done" | "failed" | "stopped" | "abandoned";

export interface TurnRow {
  id: Generated<number>;
  chat_id: ChatId;
  intent: number;
  agent: string;
  thread: string;
  state: TurnState;
  /** The error's code; "" without one. */
  error: string;
  started_at: number;
  ended_at: number;
}

export type PieceState = "planned" | "sending" | "sent" | "unknown" | "failed" | "parked" | "cancelled";

export interface PieceRow {
  id: Generated<number>;
  chat_id: ChatId;
  channel: string;
  /** The address it goes to: where its message came from, also when the chat has several. */
  to_chat: string;
  to_topic: string;
  /** 0 for what Perch itself says. */
  turn_id: number;
  seq: number;
  /** PieceBody as JSON; "" once its outcome is final. */
  body: string;
  reply_to: string;
  state: PieceState;
  form: string;
  /** Once it is sent again because the first outcome stayed unknown. */
  again: number;
  attempts: number;
  not_before: number;
  platform_ids: string;
  error: string;
  created_at: number;
  ended_at: number;
}

export type Role = "owner" | "allowed" | "stranger";

/** What was granted in chat, and strangers who were told once that the bot is private. */
export interface PersonRow {
  channel: string;
  person: string;
  role: Role;
  granted_by: string;
  at: number;
}

/** By which number a member of a group is known there. */
export interface SpeakerRow {
  chat_id: ChatId;
  person: string;
  n: number;
}

export interface ClaimCodeRow {
  channel: string;
  code: string;
  created_at: number;
}

export interface ChannelStateRow {
  channel: string;
  key: string;
  value: string;
}
