import type { AgentDefinition } from "../core/agent.ts";
import type { Touch } from "../store/memory.ts";
import type { ClaimedTurn } from "../store/turns.ts";

/** What `memory` does for a turn; it is handed in, for rooms on one floor do not know each other. */
export type Remembering = {
  /** What is remembered, framed, for this turn alone; "" where there is nothing. Never rejects. */
  recall(turn: ClaimedTurn, agent: AgentDefinition): Promise<string>;
  /** What a turn that is done leaves to be gone through, written down with its end; */
  touched(turn: ClaimedTurn, agent: AgentDefinition): readonly Touch[];
  /** which is committed now. */
  committed(touches: readonly Touch[]): void;
};
