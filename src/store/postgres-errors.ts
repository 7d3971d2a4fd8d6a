import { GatewayError } from "../core/errors.ts";
import type { ServerAddress } from "./postgres-url.ts";

/** PostgreSQL's name of an error (SQLSTATE), or the system's; "" where there is none. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Ended by the server because two waited for each other, or have changed the same: deadlock_detected, serialization_failure. */
export function isContention(error: unknown): boolean {
  return /^(?:40P01|40001)$/.test(codeOf(error));
}

/** Nothing more is to be asked on this connection. */
export function isBroken(error: Error): boolean {
  // 57P01–57P03: the server ends or begins; 25P03: it has ended a transaction that was left lying; 08: the connection.
  return /^(?:57P0[1-5]|25P03|08...|E[A-Z]+)$/.test(codeOf(error)) || WITHOUT_CODE.test(error.message);
}

// What the driver says of its own accord; none of it has a code.
const WITHOUT_CODE =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout)/;

/** 53: no room, no memory, too many connections; 57014: a statement that took too long; 58: the server's own disk. */
const UNAVAILABLE = /^(?:53...|57014|58...|55P03|25006|XX00[12])$/;

/** Says in our words that the server is away, full or busy; any other error is a fault of ours and stays what it is. */
export function inUse(error: Error, { name }: ServerAddress): Error {
  if (error instanceof GatewayError) return error;
  if (!isBroken(error) && !UNAVAILABLE.test(codeOf(error))) return error;
  return new GatewayError("store.unavailable", `PostgreSQL at ${name}: ${whyOf(error)}`, { cause: error });
}

function whyOf(error: Error): string {
  const code = codeOf(error);
  if (code === "ECONNREFUSED") return "nothing listens there; start it, or mend store.url";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "there is no such host; mend store.url";
  if (code === "53100") return "its disk is full; make room on it";
  if (code === "53300") return "it has no connection left; raise max_connections, or run fewer processes";
  if (code === "57014" || code === "55P03") return "a statement took too long; the server is overloaded";
  if (code === "25006") return "it takes no writes, as a standby does; name the primary in store.url";
  return error.message === "" ? `it cannot be reached (${code})` : error.message;
}

/** What can be done where the data cannot be used at all. */
export function atOpen(error: Error, server: ServerAddress): Error {
  const told = inUse(error, server);
  if (told instanceof GatewayError) return told;
  const remedy = REMEDIES[codeOf(error)];
  if (remedy === undefined) return error;
  return new GatewayError("data.unusable", `PostgreSQL at ${server.name} cannot be used: ${remedy}`, {
    cause: error,
  });
}

const REMEDIES: Readonly<Record<string, string>> = {
  "28P01": "user or password are wrong; mend store.url",
  "28000": "this user may not connect; mend store.url, or let it in pg_hba.conf",
  "3D000": "there is no such database; create it, or name another in store.url",
  "3F000": "there is no such schema; create it, or name another in store.url",
  "42501":
    "this user may not create tables there; grant it the right, or name a schema of its own with ?schema=",
};
