/** Those of `SENTENCES` about messages that wait while a turn runs, and about who keeps still. */
export const WAITING_SENTENCES = {} as const;
