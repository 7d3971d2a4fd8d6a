/** What the process ends with: 0 all went well, 1 it could not, 2 the configuration has faults. */
export const EXIT = { ok: 0, failed: 1, config: 2 } as const;
