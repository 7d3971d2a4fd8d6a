import type { Clock, Timer } from "../core/clock.ts";
import { asError } from "../core/errors.ts";

/** What a platform has not answered by then is cut off, and its outcome is unknown. */
const ANSWER_MS = 120_000;
/** So long may what was cut off take to say whether it was written. */
const LAST_WORD_MS = 2_000;

/** What was begun has had its effect on the platform after this time, or never will. */
export const EFFECT_MS = ANSWER_MS + LAST_WORD_MS;

/**
 * Waits for a channel's work, and cuts it off late or when `cutOff` aborts. A channel that does not heed its signal is left
 * behind: its chat would be deaf for ever, and the stop would not end.
 */
export async function answered<T>(
  { clock, cutOff }: { readonly clock: Clock; readonly cutOff: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const cut = new AbortController();
  const end = (): void => cut.abort(cutOff.reason);
  const late = clock.after(ANSWER_MS, () =>
    cut.abort(new Error(`the platform did not answer within ${ANSWER_MS / 1_000} s`)),
  );
  let lastWord: Timer | undefined;
  cutOff.addEventListener("abort", end, { once: true });
  try {
    return await new Promise<T>((resolve, reject) => {
      cut.signal.addEventListener("abort", () => {
        lastWord = clock.after(LAST_WORD_MS, () => reject(asError(cut.signal.reason)));
      });
      if (cutOff.aborted) end();
      work(cut.signal).then(resolve, reject);
    });
  } finally {
    late.cancel();
    lastWord?.cancel();
    cutOff.removeEventListener("abort", end);
  }
}
