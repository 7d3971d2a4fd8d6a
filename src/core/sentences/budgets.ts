/** Those of `SENTENCES` about what may be used. */
export const BUDGET_SENTENCES = {} as const;
