import type { Generated } from "kysely";
import type { InboundEvent, ScheduledEvent } from "../core/events.ts";
import type { ChatId } from "../core/identity.ts";
import type { During } from "../core/rules.ts";
import type { Language } from "../core/sentences.ts";

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
  channel_lease: ChannelLeaseRow;
  sent: SentRow;
  alias: AliasRow;
  pairing: PairingRow;
  wrong_code: WrongCodeRow;
  question: QuestionRow;
  choice: ChoiceRow;
}

/** A conversation and the hold on it. `owner` is "" and `until` 0 while nobody holds it. */
export interface ChatRow {
  id: Generated<ChatId>;
  channel: string;
  kind: "private" | "group";
  owner: string;
  epoch: number;
  until: number;
  /** The agent keeps still there for what was said before; 0 where it never had to. */
  paused_until: Generated<number>;
  /** Who has it keep still: whoever wrote by hand, or a command; "" where it never had to. */
  paused_by: Generated<"" | "hand" | "command">;
  /** When it was told so, by our clock; later than now where that was set back. */
  paused_at: Generated<number>;
  /** The hold of the turn that a command has cut off, and that may not end as usual any more; 0 for none. */
  paused_epoch: Generated<number>;
  /** What its people wrote in when it last could be told; "" before. */
  language: Generated<Language | "">;
  /** What becomes of messages that come while a turn runs, as it was wished for there; "" where the rules say. */
  during: Generated<During | "">;
  /** Its people were told that too much waits there, and nothing of that is done yet. */
  full_told: Generated<number>;
  /** The hold of the turn that its people have stopped; 0 for none. */
  stop_epoch: Generated<number>;
  /** Who sends there now, where several processes could; "" and 0 while nobody does. */
  deliver_owner: Generated<string>;
  deliver_epoch: Generated<number>;
  deliver_until: Generated<number>;
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

/**
 * A "listening" message becomes a turn only if the agent is called by name in what is said in it. An "aside" begins no turn:
 * the agent is told of it with the next one.
 */
export type InboxState =
  | "listening"
  | "aside"
  | "waiting"
  | "claimed"
  | "consumed"
  | "refused"
  | "withdrawn"
  | "dead";

/** "approved": a call that somebody has said yes to is made, and the agent told what came of it. */
export type InboxTask = "compact" | "export" | "approved";

export interface InboxRow {
  id: Generated<number>;
  channel: string;
  chat_id: ChatId;
  event_key: string;
  payload_hash: string;
  type: InboundEvent["type"] | ScheduledEvent["type"];
  /** The event as JSON; "" once it is consumed, so that a message is kept in its thread alone. */
  payload: string;
  /** Of what can be seen of the message, so that an edit which changes nothing of it is known as such. */
  content_hash: string;
  sender: string;
  /** What a reply names on the platform; of an edit, a reaction and the like, the message that it is about. */
  ref: string;
  /** The row of the message that was edited or taken back; 0 for what stands for itself. */
  about: number;
  state: InboxState;
  /** Why it was refused, withdrawn or set aside; "" otherwise. */
  why: string;
  agent: string;
  thread: string;
  /** The id of the first message of the intent that this one belongs to; 0 for what starts no turn. */
  intent: number;
  /** Its intent is of messages that came late (1), or while the agent kept still (2). */
  digest: Generated<number>;
  /** What is to be done instead of a turn: sum the thread up, hand out all that is kept, make a call; "" for a turn. */
  task: Generated<"" | InboxTask>;
  /** Of the first message of an intent: one of it was edited (1) or taken back (2) after its turn had begun. */
  unsaid: Generated<number>;
  /** What becomes of it because a turn ran when it came; "" where none did. */
  during: Generated<During | "">;
  /** Whoever waits was shown that it waits. */
  sign: Generated<number>;
  /** UTF-16 units of its own text, which bound what one intent holds. */
  characters: Generated<number>;
  /** Of a kept message: how many before it were too many to be kept. */
  left_out: Generated<number>;
  /** Which window it holds open: "text", "media" and the like, as `perch why` calls it; "" where that is none. */
  window: Generated<string>;
  album: string;
  /** Its turn counts among those of a budget: however often it is begun, it does so once. */
  counted: Generated<number>;
  received_at: number;
  /** When the window of its intent closes. */
  due_at: number;
  claims: number;
  /** The last turn that has begun with it; 0 before the first. */
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
  /** Who fetches it, until when without another word; "" and 0 while nobody does. */
  owner: Generated<string>;
  until: Generated<number>;
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
  /** What its calls of models took, subagents included. */
  input_tokens: Generated<number>;
  cached_tokens: Generated<number>;
  output_tokens: Generated<number>;
  /** In millionths of the operator's currency. */
  cost_micros: Generated<number>;
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
  /** The message of ours that it is put in the place of; "" for a message of its own. */
  replaces: string;
  state: PieceState;
  form: string;
  /** Once it is sent again because the first outcome stayed unknown. */
  again: number;
  attempts: number;
  not_before: number;
  platform_ids: string;
  error: string;
  created_at: number;
  /** When the sending was begun that it is looked for by: the first, where it goes once more; 0 before. */
  begun_at: number;
  ended_at: number;
  /** The question that it asks; "" for what asks nothing that is kept. */
  question: Generated<string>;
}

export type Role = "owner" | "allowed" | "refused" | "stranger";

/** What was granted and refused in chat, and strangers who were told once that the bot is private. */
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
  /** From when on it may be forgotten; 0 for what stays. */
  until: number;
}

/** Which process is a connection. `owner` is "" and `until` 0 while none is. */
export interface ChannelLeaseRow {
  channel: string;
  owner: string;
  epoch: number;
  until: number;
}

/** A message of ours as the platform knows it: for replies, reactions, edits, and the search for lost ones. */
export interface SentRow {
  channel: string;
  /** The platform's id of the chat, whatever the topic. */
  chat: string;
  ref: string;
  chat_id: ChatId;
  piece_id: number;
  at: number;
  /** When it arrived, and when it was read; 0 where nobody has said so. */
  delivered_at: Generated<number>;
  read_at: Generated<number>;
}

/** Another id of a person or a chat, where the operator uses it. `id` is the one in all other rows. */
export interface AliasRow {
  channel: string;
  alias: string;
  id: string;
}

/** A stranger who may be let in with a code. */
export interface PairingRow {
  channel: string;
  person: string;
  code: string;
  created_at: number;
}

/** A code that somebody typed and nobody was given. */
export interface WrongCodeRow {
  channel: string;
  person: string;
  at: number;
}

/** A question with buttons. One press ends it. */
export interface QuestionRow {
  id: string;
  chat_id: ChatId;
  /** Who may answer it; "" for everybody who may talk there. */
  person: string;
  /** Whom it is about; "" for a question of the agent's. */
  subject: string;
  /** What stands above the buttons, as JSON; "" once it is answered. */
  rendered: string;
  expires_at: number;
  /** 0 until it was answered. */
  used_at: number;
  /** The call that waits for the answer; "" for another question. */
  approval: Generated<string>;
  /** What a graph has stopped at, by LangGraph's id; "" for another question. */
  interrupt: Generated<string>;
  /** The thread that goes on with the answer, of a call or a graph; "" for another question. */
  thread: Generated<string>;
  /** The event that has pressed a button of it; "" before, and where words have answered it. */
  answer: Generated<string>;
}

export interface ChoiceRow {
  key: string;
  question: string;
  label: string;
  /** To say what stands on it, or to let the subject of the question in, or not. */
  means: "say" | "cancel" | "allow" | "refuse";
}
