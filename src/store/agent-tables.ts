import type { Generated } from "kysely";
import type { TaskStatus } from "../core/background.ts";
import type { ChatId } from "../core/identity.ts";
import type { Language } from "../core/sentences.ts";

/** What is kept of the work of agents beside their threads. Times are epoch ms; JSON is text; booleans are 0 or 1. */
export interface AgentTables {
  thread_fact: ThreadFactRow;
  effect: EffectRow;
  background_task: BackgroundTaskRow;
  memory_fact: MemoryFactRow;
  memory_work: MemoryWorkRow;
  forgotten: ForgottenRow;
  blob_use: BlobUseRow;
}

/** What is known of a thread without reading it, from its last turn. */
export interface ThreadFactRow {
  thread: string;
  chat_id: ChatId;
  agent: string;
  /** "" until it has one; then it stays. */
  title: string;
  messages: Generated<number>;
  tokens: Generated<number>;
  /** Whether `tokens` are a guess. */
  estimated: Generated<number>;
  /** 0 where it is not known. */
  window: Generated<number>;
  /** What the models took for its last turn, and for all; costs are in millionths of the operator's currency. */
  last_input: Generated<number>;
  last_output: Generated<number>;
  last_cost: Generated<number>;
  all_input: Generated<number>;
  all_output: Generated<number>;
  all_cost: Generated<number>;
  at: number;
}

/** A call of a tool with effects, of a turn that has not ended. */
export interface EffectRow {
  id: Generated<number>;
  chat_id: ChatId;
  thread: string;
  /** The message that the turn answers. */
  message: string;
  call: string;
  step: string;
  done: Generated<number>;
  result: Generated<string>;
  at: number;
}

export interface BackgroundTaskRow {
  id: Generated<number>;
  chat_id: ChatId;
  channel: string;
  /** Where its end is told. */
  to_chat: string;
  to_topic: string;
  /** As its chat knows it: "t3" is 3. */
  n: number;
  /** Who has begun it, and on which thread. */
  agent: string;
  thread: string;
  /** In which its end is told. */
  language: Language;
  /** Who does it. */
  subagent: string;
  /** Who has asked for it, by the platform's id, and whether as the owner; "" for nobody. */
  person: Generated<string>;
  by_owner: Generated<number>;
  prompt: string;
  status: TaskStatus;
  /** Whether there is nothing to be done about it any more: its end stands in the chat's lane, or is not to be told. */
  told: number;
  /** How often it was begun since it was last changed. */
  attempts: number;
  /** How many of these have not come to any end. */
  crashes: number;
  not_before: number;
  /** Raised by each change: what a run of before comes to is not taken. */
  epoch: number;
  /** Who is at it, until when without another word; "" and 0 while nobody is. */
  owner: Generated<string>;
  until: Generated<number>;
  result: string;
  /** Why it came to nothing: the error's code, "crashed" or "gone"; "" otherwise. */
  error: string;
  started_at: number;
  ended_at: number;
}

/** `subject` is the platform's id of a person, or the number of a chat. */
export interface MemoryFactRow {
  id: Generated<number>;
  /** As people know it: it counts what is remembered of one owner. */
  n: number;
  scope: "person" | "chat";
  channel: string;
  subject: string;
  agent: string;
  content: string;
  confidence: number;
  /** Epoch ms. */
  said_at: number;
  /** The thread that it was said in. */
  thread: string;
  /** The id of the message in it; "" where that is not known. */
  said_in: Generated<string>;
  created_at: number;
}

/** A thread that is to be gone through, once for all turns since. */
export interface MemoryWorkRow {
  thread: string;
  scope: "person" | "chat";
  channel: string;
  subject: string;
  agent: string;
  chat_id: ChatId;
  /** The id of the last message that was gone through; "" for none. */
  after: string;
  /** When the first turn since then was; 0 while there is none. */
  first_at: number;
  due_at: number;
  /** Counted, so that a run knows whether there were more while it ran. */
  touches: number;
  /** Whether the person has corrected, or confirmed, something since. */
  correction: number;
  reinforcement: number;
  attempts: number;
  /** Somebody is at it, and nobody else begins with it before; 0 while nobody is. */
  held_until: Generated<number>;
  /** Raised by `/forget`: what was begun before is not taken. */
  epoch: number;
  /** Of what was said until then nothing is remembered any more. */
  since: number;
}

/** A chat whose rows are deleted and whose files are not yet. */
export interface ForgottenRow {
  chat_id: ChatId;
  channel: string;
  /** Where it is told that all is gone. */
  to_chat: string;
  to_topic: string;
  at: number;
  /** What was deleted, as JSON. */
  counts: string;
  /** The blobs that the chat has used, as JSON. */
  blobs: string;
  /** How many files there were; -1 until they are counted. */
  files: number;
  /** Whether it was told that all is gone. */
  told: Generated<number>;
}

/** Which chats' messages refer to a blob: without one it may go. */
export interface BlobUseRow {
  blob: string;
  chat_id: ChatId;
}
