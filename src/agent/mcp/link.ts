/** A tool as its server tells of it; nothing of it is ours. */
export type ListedTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
  /** It says of itself that it changes nothing. */
  readonly readOnly: boolean;
};

export type ToolResult = {
  readonly content: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
};

/** A connection to a server of tools. */
export type Link = {
  list(milliseconds: number): Promise<readonly ListedTool[]>;
  /** `signal` is one of the call's own: the library leaves a listener on it. */
  call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: { readonly milliseconds: number; readonly signal: AbortSignal },
  ): Promise<ToolResult>;
  /** Ends a program: its stdin, and where that is not heard, the program itself after 2 s. */
  close(): Promise<void>;
};
