import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import { pause } from "../../core/clock.ts";
import { modelKey } from "../model-key.ts";
import { isBurst, mayPass, reasonOf, retryAfterMs } from "./errors.ts";
import type { AroundModel, StageParts } from "./stage.ts";

const TRIES = 3;
const BASE_MS = 1_000;
const CAP_MS = 8_000;
/** Where too much came at once, more tries soon after one another make it worse. */
const BURST_TRIES = 2;
const BURST_BASE_MS = 5_000;

export type Persistence = Pick<StageParts, "clock" | "log"> & {
  readonly choice: ModelChoice;
  readonly signal: AbortSignal | undefined;
  /** For how long it may be waited now, in ms; as long as a pause of ours may last without it. */
  readonly patience?: () => number;
  readonly random?: () => number;
};

/** See `persistently`; as long as the turn lasts. */
export function retried(
  { model, fallbacks = [], limits }: Pick<AgentDefinition, "model" | "fallbacks" | "limits">,
  { clock, log }: Pick<StageParts, "clock" | "log">,
  random?: () => number,
): AroundModel {
  const last = fallbacks.at(-1) ?? model;
  return async (asking, next) => {
    const { choice, signal, turn } = asking;
    const endsAt = turn?.endsAt ?? clock.now() + limits.turnSeconds * 1_000;
    return await persistently(async () => await next(asking), {
      clock,
      log,
      choice,
      signal,
      // Where another model can be asked, nobody waits long for this one.
      patience: () => (choice === last ? endsAt - clock.now() : CAP_MS),
      ...(random === undefined ? {} : { random }),
    });
  };
}

/**
 * Asks again where that may help, after a pause: as long as the provider says if there is patience for that, else drawn
 * anew from a range that grows with the pause before, so that many chats do not come back all at once. Rejects with what
 * was thrown last.
 */
export async function persistently<Answer>(
  ask: () => Promise<Answer>,
  { clock, log, choice, signal, patience = () => CAP_MS, random = Math.random }: Persistence,
): Promise<Answer> {
  let before = 0;
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (thrown) {
      if (signal?.aborted || !mayPass(thrown)) throw thrown;
      const burst = isBurst(thrown);
      if (tries >= (burst ? BURST_TRIES : TRIES)) throw thrown;
      const base = burst ? BURST_BASE_MS : BASE_MS;
      const drawn = base + random() * Math.max(0, Math.max(before, base) * 3 - base);
      const ms = retryAfterMs(thrown, clock.now()) ?? Math.min(CAP_MS, drawn);
      if (ms > patience()) throw thrown;
      log.warn(
        { model: modelKey(choice), reason: reasonOf(thrown), ms: Math.round(ms) },
        "a model did not answer and is asked again",
      );
      before = ms;
      await pause(clock, ms, signal);
      signal?.throwIfAborted();
    }
  }
}
