import type { Channel } from "./channel.ts";
import { type Clock, pause } from "./clock.ts";
import type { Log } from "./log.ts";

/** A connection that has not closed by then is left behind. */
const CLOSE_MS = 5_000;

/** Never rejects and always ends, whatever the channel does: a stop and a changed configuration wait for it. */
export async function closeChannel(
  channel: Channel,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const ended = new AbortController();
  void channel
    .close()
    .catch((err: unknown) => log.error({ err }, "a connection failed while it was closed"))
    .finally(() => ended.abort());
  await pause(clock, CLOSE_MS, ended.signal);
  if (!ended.signal.aborted)
    log.error({}, `a connection did not close within ${CLOSE_MS / 1_000} s and is left behind`);
}
