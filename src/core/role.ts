export const ROLES = ["all", "channels", "workers", "web"] as const;

/**
 * What a process of several does: "channels" are the connections, "workers" run turns and all else that agents do, "web"
 * takes in what platforms call for, in as many processes as are wished for. One process alone does all of it.
 */
export type Role = (typeof ROLES)[number];

/** Whether a process of this role is connections that only one process may be at a time. */
export function isChannels(role: Role): boolean {
  return role === "all" || role === "channels";
}

export function isWorker(role: Role): boolean {
  return role === "all" || role === "workers";
}
