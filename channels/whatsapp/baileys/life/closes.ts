/** What is done when a connection has ended. */
export type Reaction =
  /** At once, with the same keys; no failure. */
  | "at once"
  /** After a wait that grows to a minute. */
  | "soon"
  /** After a wait that grows to five minutes. */
  | "later"
  /** Once more, a good while later; then it is somebody else's. */
  | "replaced"
  /** Once more; then the account has to be linked again. */
  | "doubted"
  /** The account has to be linked again. */
  | "unpaired"
  /** Not before a time that WhatsApp names. */
  | "banned"
  /** Nothing that a program could do mends it; linking another account does. */
  | "account lost"
  /** Nothing that a program could do mends it. */
  | "stop";

export type CloseMeaning = {
  readonly reaction: Reaction;
  /** One sentence without an end: what happened and, where a person is needed, what to do. */
  readonly why: string;
};

/**
 * What each code means that a connection ends with, at the login, in the middle and while an account is linked. What is
 * not in it counts as 500.
 */
export const CLOSES: Readonly<Record<number, CloseMeaning>> = {
  400: {
    reaction: "stop",
    why: "what answers for WhatsApp cannot prove that it is WhatsApp (400); look at who stands between this machine and the network, and restart when that is known",
  },
  401: {
    reaction: "unpaired",
    why: "WhatsApp has ended the link to this account (401): it was removed under Linked devices on the phone, or WhatsApp logged it out; link it again",
  },
  402: {
    reaction: "banned",
    why: "WhatsApp has banned this account for a time (402); send less until then, and to nobody who did not write first",
  },
  403: {
    reaction: "account lost",
    why: "WhatsApp has locked this account (403); open WhatsApp on the phone and follow what it says, then link it again",
  },
  405: {
    reaction: "stop",
    why: "WhatsApp refuses the version that this connection tells as too old (405); set version to a newer one. The link stays as it is",
  },
  406: {
    reaction: "account lost",
    why: "WhatsApp has banned this account (406); open WhatsApp on the phone to ask for a review, or link another account",
  },
  408: { reaction: "soon", why: "WhatsApp did not answer in time (408)" },
  409: {
    reaction: "stop",
    why: "WhatsApp does not take what this connection says of itself (409); set version to a newer one, then restart",
  },
  411: {
    reaction: "stop",
    why: "this account uses no linked devices (411); update WhatsApp on the phone, then link it again",
  },
  419: {
    reaction: "doubted",
    why: "WhatsApp does not accept the login of this account (419); link it again",
  },
  428: { reaction: "soon", why: "the connection to WhatsApp broke (428)" },
  440: {
    reaction: "replaced",
    why: "another program has logged in with the keys of this connection (440); stop it, or link this one anew, then restart",
  },
  500: { reaction: "later", why: "WhatsApp ended the connection without saying why (500)" },
  503: { reaction: "later", why: "WhatsApp is not available (503)" },
  515: { reaction: "at once", why: "WhatsApp asked for a new connection (515)" },
};

/** How a connection ended: by a code of `CLOSES` or any other, and WhatsApp's own details where it gave some. */
export type Close = {
  readonly code: number;
  readonly detail: Readonly<Record<string, unknown>>;
  /** The codes that are shown while an account is linked are used up. */
  readonly refsUsedUp: boolean;
  /** It never came to a conversation: refused, unknown or answered by something else. */
  readonly unreachable: boolean;
};

/** What `connection.update` gives as `lastDisconnect.error`: a Boom with the code in `output.statusCode`. */
export function closeOf(error: unknown): Close {
  const { message, output, data } = asRecord(error);
  const statusCode = asRecord(output)["statusCode"];
  const words = typeof message === "string" ? message : "";
  const detail = asRecord(data);
  const attrs = detail["attrs"];
  return {
    code: typeof statusCode === "number" && Number.isInteger(statusCode) ? statusCode : 500,
    detail: attrs === undefined ? detail : asRecord(attrs),
    refsUsedUp: words.startsWith("QR refs"),
    // The codes of these are those of HTTP or of the system, which mean something else.
    unreachable: words.startsWith("WebSocket Error"),
  };
}

export function meaningOf({ code, unreachable }: Close): CloseMeaning {
  if (unreachable) return { reaction: "soon", why: `WhatsApp cannot be reached (${code})` };
  return CLOSES[code] ?? UNKNOWN;
}

// noUncheckedIndexedAccess does not know that 500 is there.
const UNKNOWN = CLOSES[500] as CloseMeaning;

/** Milliseconds that a ban lasts on; WhatsApp gives `expire` in seconds, and a day stands for what it does not say. */
export function banMs({ detail }: Close): number {
  const seconds = Number(detail["expire"]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : DAY_MS;
}

const DAY_MS = 86_400_000;

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  // An Error has fields as any object.
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
