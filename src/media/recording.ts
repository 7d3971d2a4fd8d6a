/** What is to be written down. */
export type Recording = {
  /** As a WAV of ours; absent where nothing here decodes it. */
  readonly wav?: { readonly path: string; readonly bytes: number };
  /** As it came. */
  readonly original?: { readonly path: string; readonly mimeType: string; readonly bytes: number };
  /** Absent where it could not be found out. */
  readonly seconds?: number;
};

/** What became of asking once. What failed is for the operator's log and holds no text, key or address. */
export type Asked =
  | { readonly said: string }
  | {
      readonly failed: string;
      /** Whether asking again may help, and how long to wait before. */
      readonly again?: { readonly afterMs?: number };
    };
