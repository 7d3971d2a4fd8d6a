import type { MessageEvent } from "../core/events.ts";
import type { ThreadId } from "../core/identity.ts";
import { latestIntent } from "../store/inbox.ts";
import type { About } from "./about.ts";
import { gather, type Gathered } from "./gather.ts";

/** Which intent that waits a message of a person joins, if any, and when that one's window closes. */
export async function gatheredFor(
  { trx, chat, event, now }: About<MessageEvent>,
  of: { readonly agent: string; readonly thread: ThreadId; readonly digest: boolean },
): Promise<Gathered> {
  const album = event.albumId ?? "";
  const open = await latestIntent(trx, { chat, sender: event.from.id, album, ...of });
  return gather(event, open, now, { late: of.digest });
}
