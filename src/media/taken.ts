import type { AttachmentOutcome, BlobRef, ContentBlock } from "../core/blocks.ts";

/** What one attachment became: blocks for the model, and its one outcome. */
export type Taken = { readonly blocks: readonly ContentBlock[]; readonly outcome: AttachmentOutcome };

/** What was downloaded, as what its bytes are. */
export type Fetched = {
  readonly mimeType: string;
  readonly blob: BlobRef;
  readonly bytes: number;
  readonly filename?: string;
};
