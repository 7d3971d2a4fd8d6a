import { FileBlobs } from "../store/blobs.ts";
import { type JobKind, type JobNeeds, perform } from "./jobs.ts";
import { serve } from "./serve.ts";

// What a child process of children.ts runs.

const [, , blobsFolder = ""] = process.argv;
const blobs = new FileBlobs(blobsFolder);

serve(({ kind, needs }) => {
  const known = kind as JobKind; // children.ts takes nothing else
  return perform(known, needs as JobNeeds<typeof known>, blobs);
});
