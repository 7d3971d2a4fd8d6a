/** A call of a tool that changes something outside: what is known of it after a crash. */
export type StoredEffect = {
  /** The id of the call. */
  readonly call: string;
  /** The assistant's message that the call stands in, as `src/agent` has written it. */
  readonly step: string;
  /** Undefined where the process ended before it was known whether it took effect. */
  readonly result?: string;
};

/** The effects of one turn. They are forgotten in the transaction that ends it. */
export type EffectLog = {
  /** Those of earlier attempts at this turn, in the order in which they were begun. */
  earlier(): Promise<readonly StoredEffect[]>;
  /** Committed when it resolves: only then may the call be made. @throws GatewayError "store.hold_lost". */
  begin(call: string, step: string): Promise<void>;
  /** Committed when it resolves: only then may the next step begin. @throws GatewayError "store.hold_lost". */
  done(call: string, result: string): Promise<void>;
};
