/** Telegram's seconds as ISO 8601. */
export function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

/**
 * The time of what Telegram does not date: presses of buttons and deletions. The time of arrival would make another event
 * of an update that is handed over again.
 */
export const UNDATED = isoOf(0);
