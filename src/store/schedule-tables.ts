import type { Generated } from "kysely";
import type { ChatId } from "../core/identity.ts";
import type { HeldWhy } from "../core/schedules.ts";

/** What is done at a time though nobody writes. Times are epoch ms. */
export interface ScheduleTables {
  schedule: ScheduleRow;
  unasked: UnaskedRow;
}

/** A schedule: what is due next, and how the last time began. What became of that, its message and its turn say. */
export interface ScheduleRow {
  id: Generated<number>;
  origin: "operator" | "agent";
  /** One of the operator's is known by it; one of an agent's in its chat. */
  name: string;
  channel: string;
  /** Where it is told. */
  to_chat: string;
  to_topic: string;
  /** 0 for one of the operator's, whose chat is looked up when it is due. */
  chat_id: ChatId | 0;
  /** "" for whoever answers there. */
  agent: string;
  /** Who asked for it, by the platform's id; "" for the operator. */
  person: string;
  kind: "cron" | "every" | "at";
  /** The fields of cron, or a number of ms, or epoch ms. */
  spec: string;
  time_zone: string;
  prompt: string;
  state: "active" | "done";
  /** The time that is next to be done. */
  due_at: number;
  /** When that is tried: later, where it was put off. */
  next_at: number;
  /** Why the last time was not run; "" where it was. */
  held: HeldWhy | "";
  /** The message that the last time was. */
  last_inbox: number;
  last_at: number;
  fires: number;
  created_at: number;
}

/** How many messages nobody has asked for were sent, or are to be, on one day of a chat. */
export interface UnaskedRow {
  chat_id: ChatId;
  /** "2026-12-24", in the time zone of the chat. */
  day: string;
  n: number;
}
