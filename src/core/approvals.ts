/** Which calls of tools wait for somebody's yes. */
export type ApprovalRules = {
  /** Names of tools, and `server/*` for all of a server of tools. */
  readonly tools: readonly string[];
  /** Without it the owner, where the connection has one, else whoever is answered. */
  readonly who?: Answerer;
  /** So long a question can be answered. */
  readonly minutes: number;
};

/** Who may say yes or no: the owner of the connection, whoever is answered, or everybody who may talk there. */
export type Answerer = (typeof ANSWERERS)[number];
export const ANSWERERS = ["owner", "asker", "anyone"] as const;

/** A call that waits, as the agent's room has written it down. */
export type WaitingCall = {
  /** As `StoredEffect` has them. */
  readonly call: string;
  readonly step: string;
  readonly result: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly who: Answerer | undefined;
  readonly minutes: number;
};

/** What has become of the wish: only "asked" is committed, and put to people with the end of the turn. */
export type WishOutcome = "asked" | "asked before" | "too many" | "nobody";

export type ApprovalDesk = {
  /** Committed when it resolves. @throws GatewayError "store.hold_lost". */
  ask(call: WaitingCall): Promise<WishOutcome>;
};

/** A call that somebody has said yes to: the turn begins with it. */
export type ApprovedCall = {
  readonly id: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
};
