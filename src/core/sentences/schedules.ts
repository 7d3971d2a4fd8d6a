/** Those of `SENTENCES` about what is done at a time. */
export const SCHEDULE_SENTENCES = {} as const;
