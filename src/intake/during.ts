import type { During } from "../core/rules.ts";
import type { Lane } from "../store/lane.ts";
import type { About } from "./about.ts";
import type { WaitingRules } from "./waiting-rules.ts";

/**
 * Whether a turn of the chat runs, or is as good as begun: what waits is due, and it waits for its media or for a worker
 * alone. What is said now comes while it runs. Pure.
 */
export function runsIn({ held, intents }: Lane, now: number): boolean {
  const [oldest] = intents;
  return held || (oldest !== undefined && oldest.dueAt <= now);
}

/** What becomes of messages that come while a turn runs: the narrowest of what was wished for in the chat, and the rules. */
export function duringIn(
  { rules: { agents } }: Pick<About, "rules">,
  agent: string,
  { during: wished }: Pick<Lane, "during">,
  { during }: Pick<WaitingRules, "during">,
): During {
  const mode = wished === "" ? during : wished;
  // Between the steps of a graph that the operator brings there is no place for it.
  return mode === "steer" && agents.get(agent)?.graph !== undefined ? "queue" : mode;
}
