import type { Generated } from "kysely";
import type { TaskStatus } from "../core/background.ts";
import type { ChatId } from "../core/identity.ts";

/** What is kept of the work of agents beside their threads. Times are epoch ms; JSON is text; booleans are 0 or 1. */
export interface AgentTables {
  thread_fact: ThreadFactRow;
  effect: EffectRow;
  background_task: BackgroundTaskRow;
  memory_fact: MemoryFactRow;
  memory_work: MemoryWorkRow;
  blob_use: BlobUseRow;
}

/** What is known of a thread without reading it, from its last turn. */
export interface ThreadFactRow {
  thread: string;
  chat_id: ChatId;
  agent: string;
  /** "" until it has one; then it stays. */
  title: string;
  messages: number;
  tokens: number;
  /** Whether `tokens` are a guess. */
  estimated: number;
  window: number;
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
  done: number;
  result: string;
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
  /** Who does it. */
  subagent: string;
  prompt: string;
  status: TaskStatus;
  attempts: number;
  not_before: number;
  /** Raised by each change: what a run of before comes to is not taken. */
  epoch: number;
  result: string;
  started_at: number;
  ended_at: number;
}

/** `subject` is the platform's id of a person, or the number of a chat. */
export interface MemoryFactRow {
  id: Generated<number>;
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
  signals: string;
  attempts: number;
  /** Raised by `/forget`: what was begun before is not taken. */
  epoch: number;
}

/** Which chats' messages refer to a blob: without one it may go. */
export interface BlobUseRow {
  blob: string;
  chat_id: ChatId;
  /** When it was last taken in there. */
  at: number;
}
