/** What people ask Perch itself for by "/name"; whatever else begins so is for the agent. */
export const COMMANDS = [
  "new",
  "stop",
  "status",
  "context",
  "compact",
  "memory",
  "forget",
  "export",
  "help",
  "why",
  "model",
  "pair",
] as const;

export type CommandName = (typeof COMMANDS)[number];
