/** What people ask Perch itself for by "/name"; whatever else begins so is for the agent. */
export const COMMANDS = [
  "new",
  "stop",
  "queue",
  "cancel",
  "pause",
  "resume",
  "status",
  "pending",
  "context",
  "budget",
  "compact",
  "memory",
  "forget",
  "export",
  "help",
  "schedules",
  "why",
  "model",
  "pair",
] as const;

export type CommandName = (typeof COMMANDS)[number];
