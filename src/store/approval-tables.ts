import type { Generated } from "kysely";
import type { Answerer } from "../core/approvals.ts";
import type { ChatId } from "../core/identity.ts";

/** What waits for people. Times are epoch ms; JSON is text; booleans are 0 or 1. */
export interface ApprovalTables {
  approval: ApprovalRow;
}

/**
 * "noted" by a turn that has not ended: nobody has been asked. One that is "withdrawn" never will be, for its turn came to
 * nothing. An "approved" one is made by the turn of its intent.
 */
export type ApprovalState = "noted" | "open" | "approved" | "refused" | "expired" | "withdrawn";

/** A call of a tool that waits for somebody's yes. */
export interface ApprovalRow {
  id: string;
  chat_id: ChatId;
  thread: string;
  agent: string;
  /** The message whose turn has made the call, and the call in it. */
  message: string;
  call: string;
  tool: string;
  /** JSON. */
  args: string;
  who: Answerer;
  /** Of whom the turn was. */
  person: string;
  /** What they are called. */
  asker: string;
  /** Where the result is told: a Place, as JSON. */
  place: string;
  minutes: number;
  state: ApprovalState;
  noted_at: number;
  /** 0 until people are asked. */
  expires_at: Generated<number>;
  answered_at: Generated<number>;
  /** What whoever has answered is called; "" where nobody has. */
  answered_by: Generated<string>;
  /** The intent whose turn makes the call; 0 before somebody has said yes. */
  intent: Generated<number>;
  /** Whether the agent was told that it came to nothing. */
  told: Generated<number>;
}
