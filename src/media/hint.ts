/** What somebody said of bytes: heeded only where they cannot tell themselves. */
export type Hint = {
  readonly mimeType?: string | undefined;
  readonly filename?: string | undefined;
  /** Of the whole file. */
  readonly bytes: number;
};
