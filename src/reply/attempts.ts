const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 5 * 60_000;

/** What the platform cannot be asked at all is tried for this long. */
export const GIVE_UP_MS = 24 * 3_600_000;

/** A piece that ends the process each time it is sent or looked for is let go after this many times. */
export const MOST_ATTEMPTS = 10;

/** How long to wait after so many attempts, where the platform does not say. */
export function backOffMs(attempts: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** attempts, LONGEST_RETRY_MS);
}
