/** What one call of a model took, as the provider counts it; zeros where it says nothing. */
export type ModelUse = {
  /** The agent that asked: of a subagent its own name, so that its share is told apart and counted once. */
  readonly agent: string;
  /** "openai:gpt-5". */
  readonly model: string;
  /** All that was sent, what was cached included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** In millionths of the currency that the operator writes prices in; 0 without prices. */
  readonly costMicros: number;
};

/** Of a million tokens, in a currency of the operator's. */
export type Price = { readonly input: number; readonly output: number; readonly cached?: number };

/** How full the window of a thread's model is. */
export type WindowUse = {
  readonly messages: number;
  readonly tokens: number;
  /** Whether `tokens` are our own guess by length; otherwise the provider has counted them. */
  readonly estimated: boolean;
  /** What the model takes at most, in tokens. */
  readonly window: number;
};
