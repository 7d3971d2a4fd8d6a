import type { BlobRef } from "../core/blocks.ts";
import type { FileBlobs } from "../store/blobs.ts";
import type { JobGives, JobKind, JobNeeds } from "./jobs.ts";
import type { Workshop } from "./workshop.ts";

const REF = /sha256:[0-9a-f]{64}/g;

/**
 * A workshop whose children know only the folder of this machine, where blobs are elsewhere too: what a job needs is brought
 * here first, and what it has made is known everywhere before its outcome is.
 */
export function sharing(workshop: Workshop, blobs: Pick<FileBlobs, "here" | "share">): Workshop {
  return {
    async run<K extends JobKind>(kind: K, needs: JobNeeds<K>, signal: AbortSignal): Promise<JobGives<K>> {
      const needed = refsIn(needs);
      for (const ref of needed) await blobs.here(ref);
      const given: JobGives<K> = await workshop.run(kind, needs, signal);
      for (const ref of refsIn(given)) if (!needed.has(ref)) await blobs.share(ref);
      return given;
    },
    close: () => workshop.close(),
  };
}

/** Jobs are plain JSON. */
function refsIn(job: unknown): ReadonlySet<BlobRef> {
  return new Set((JSON.stringify(job) ?? "").match(REF) as BlobRef[] | null);
}
