import { asError } from "./errors.ts";

/** What does not heed its signal is left behind: rejects with the signal's reason as soon as it aborts. */
export function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(asError(signal.reason));
    if (signal.aborted) give();
    signal.addEventListener("abort", give, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", give));
  });
}
