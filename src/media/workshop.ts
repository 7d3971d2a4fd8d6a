import type { FileBlobs } from "../store/blobs.ts";
import { type JobGives, type JobKind, type JobNeeds, perform } from "./jobs.ts";

/** Where jobs on media are done. */
export type Workshop = {
  /**
   * @throws GatewayError "media.too_slow" when the job took longer than it may, "media.unreadable" when it ended its
   * process or used more memory than it may, "media.unavailable" when the disk failed it; an abort rejects with the
   * signal's reason.
   */
  run<K extends JobKind>(kind: K, needs: JobNeeds<K>, signal: AbortSignal): Promise<JobGives<K>>;
  /** Ends what runs. */
  close(): void;
};

/** In this process, without bounds: for tests of what jobs give. */
export function inThisProcess(blobs: FileBlobs): Workshop {
  return { run: (kind, needs) => perform(kind, needs, blobs), close() {} };
}
