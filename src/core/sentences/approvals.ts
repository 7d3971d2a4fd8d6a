/** Those of `SENTENCES` about questions to people and their answers. */
export const APPROVAL_SENTENCES = {} as const;
